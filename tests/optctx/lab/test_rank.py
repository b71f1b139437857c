"""A ranking: what changes the output is found, what does not is not, and no trial reaches anything."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import os
import pathlib
import signal
import sys
import time
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

import optctx.lab
from optctx import Interrupted, OptionContext, registry
from optctx.compiling import FreshProcess, Job
from optctx.errors import OptctxError, OptionValueError, UnknownOptionError
from optctx.lab.candidates import values_within_type
from optctx.lab.command.main import main
from optctx.lab.experiment import Experiment, More
from optctx.lab.outcome import Answer, Limits
from optctx.lab.rank import Effect, Ranking, rank
from tests.support.endless import LIST, SCALED, endless
from tests.support.ir_texts import COUNTED, SCALE, X86
from tests.support.processes import too_long, wait_for
from tests.support.rows import rows
from tests.support.scopes import process_state

KERNEL = (pathlib.Path(__file__).parents[3] / "examples" / "kernel.ll").read_text()
JOB = Job(KERNEL, triple=X86)
SMALL = Job(SCALE, triple=X86)
# Read by -O3; the first three matter to these loops, the fourth does not, the last has no values to guess.
MATTER = ["unroll-count", "force-vector-width", "unroll-runtime"]
CHOSEN = [*MATTER, "licm-mssa-optimization-cap", "force-attribute"]
VALUES = ["unroll-count=2,8", "force-vector-width=3,1"]  # no 3 lanes: LLVM asserts
# None that makes the code explode, and may or may not take too long.
PATTERNS = ["optimize-*", "x86-*"]
STEPS: list[int] = []


@pytest.fixture(scope="module")
def ranking() -> Ranking:
    return rank(JOB, only=CHOSEN, values=VALUES, progress=STEPS.append)


def effect_of(ranking: Ranking, name: str) -> Effect:
    (effect,) = (effect for effect in ranking.effects if effect.option == name)
    return effect


def test_options_that_matter_are_found_and_one_that_does_not_is_not(ranking: Ranking) -> None:
    assert {effect.option for effect in ranking.changing} == {*MATTER}
    spared = effect_of(ranking, "licm-mssa-optimization-cap")
    assert {trial.digest for trial in spared.trials} == {ranking.base.digest}
    assert ranking.read > 400
    assert all(effect.functions for effect in ranking.effects)
    (left,) = ranking.not_tried
    assert (left.option, left.type) == ("force-attribute", "list")
    ((effect, trial),) = ranking.dead
    assert (effect.option, effect.value) == ("force-vector-width", "1")
    assert (trial.options, trial.state) == ({"force-vector-width": "3"}, "crashed")
    count = len(ranking.trials)
    assert [count] * count == STEPS
    assert ranking.summary() == [
        f"{ranking.read} read, 4 tried, 3 change the output, 1 not tried; {count} values, 1 crashed"
    ]


def test_the_ranking_is_what_single_fresh_processes_say(ranking: Ranking, fresh: FreshProcess) -> None:
    base = fresh.compile(JOB)
    assert ranking.base.attributes["size"] == len(base.code)
    sizes = {}
    for effect in ranking.changing:
        alone = fresh.compile(dataclasses.replace(JOB, options=(f"-{effect.option}={effect.value}",)))
        found = effect.best.attributes
        assert (alone.instructions, len(alone.code)) == (found["instructions"], found["size"])
        assert ranking.change(effect.best, "size") == (len(alone.code) - len(base.code)) / len(base.code)
        sizes[effect.option] = abs(ranking.change(effect.best, "size"))
    assert list(sizes) == sorted(sizes, key=lambda name: -sizes[name])


def test_what_often_matters_is_compiled_first() -> None:
    names = (pathlib.Path(optctx.lab.__file__).parent / "likely.txt").read_text().split()
    assert len(names) == len({*names})
    known = {name for name in names if name in registry()}
    assert len(known) > 0.8 * len(names), "of another LLVM"
    first = rank(SMALL, only=["[a-u]*"], trials=12)
    assert {effect.option for effect in first.effects} <= known
    assert len(first.changing) > 5


def test_one_value_of_each_option_is_tried_and_another_if_llvm_dies_of_it() -> None:
    names = ["tail-dup-placement-penalty", "licm-mssa-optimization-cap", "small-loop-cost"]
    found = rank(JOB, only=names)
    tried = {
        each.option: sorted(trial.options[each.option] for trial in each.trials) for each in found.effects
    }
    assert tried == {names[0]: ["0", "1"], names[1]: ["0"], names[2]: ["0"]}
    assert {trial.state for _, trial in found.dead} == {"crashed"}


def test_the_values_that_the_calling_thread_sees_are_the_base(fresh: FreshProcess) -> None:
    before = process_state()
    with OptionContext({"unroll-count": 4, "enable-gvn-hoist": True}):
        found = rank(SMALL, only=["licm-ms*"], values=["unroll-count=0,2,8"])
    effect = effect_of(found, "unroll-count")
    assert effect.base == "4"
    for trial in effect.trials:
        options = ("-enable-gvn-hoist", f"-unroll-count={trial.options['unroll-count']}")
        code = fresh.compile(dataclasses.replace(SMALL, options=options)).code
        assert trial.digest == hashlib.sha256(code).hexdigest()
    assert process_state() == before


def test_ranked_by_instructions_the_order_is_another() -> None:
    options = ["optimize-regalloc", "enable-newgvn"]  # the first leaves the IR alone
    orders = {
        by: [e.option for e in rank(JOB, only=options, by=by).effects] for by in ("size", "instructions")
    }
    assert orders == {"size": options, "instructions": options[::-1]}


def test_what_never_ends_times_out_and_the_others_go_on(fresh: FreshProcess, tmp_path: pathlib.Path) -> None:
    job = dataclasses.replace(SMALL, passes=SCALED)
    limits = Limits(timeout=too_long(lambda: fresh.compile(job)))
    values = [f"{LIST}=/dev/null,{endless(tmp_path)}", "unroll-count=2"]
    found = rank(job, only=[LIST], values=values, limits=limits)
    [(effect, trial)] = found.dead
    assert (effect.option, trial.state) == (LIST, "timed out")
    assert f"longer than {limits.timeout:g} s" in trial.error
    assert effect_of(found, "unroll-count").changes
    assert not effect_of(found, LIST).changes
    assert len(effect_of(found, LIST).trials) == 2


def test_a_choice_that_is_an_option_itself_is_tried_whichever_is_named() -> None:
    job = Job("define i32 @f(i32 %a) {\n ret i32 %a\n}", triple=X86)
    with OptionContext({"global-isel": True}):
        (effect,) = rank(job, only=["regbankselect-greedy"]).effects
    assert (effect.base, effect.value, effect.changes) == (
        "regbankselect-fast",
        "regbankselect-greedy",
        False,
    )


def test_patterns_choose_and_an_alias_is_its_option() -> None:
    only = ["slp-vectorize-hor*", "-max-jump-table-size", "opt-bisect-limit", "view-isel-dags"]
    found = rank(SMALL, only=only)
    assert {effect.option for effect in found.effects} == {"slp-vectorize-hor", "slp-vectorize-hor-store"}
    assert {left.option: left.reason for left in found.not_tried} == {
        "view-isel-dags": "it opens windows",
        "max-jump-table-size": "LLVM did not read it",
        "opt-bisect-limit": "it cannot be scoped, so its reads are not seen",
    }


def test_files_that_llvm_writes_are_gone(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = rank(SMALL, only=["print-changed"], values=["print-changed=dot-cfg-quiet"])
    assert len(found.trials) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("attributes")
def test_a_fresh_process_that_compiles_otherwise_is_an_error() -> None:
    ir = COUNTED.replace("(ptr %out) {", '(ptr %out) "optctx"="-unroll-count=2" {')
    with pytest.raises(OptctxError, match="inside a context this module compiles otherwise"):
        rank(Job(ir, triple=X86), only=["unroll-count"])


@rows(
    ("arguments", "error", "words"),
    [
        ({"only": ["no-such-*"]}, OptctxError, "no option matches"),
        ({"only": ["unroll-cuont"]}, UnknownOptionError, "unroll-count"),
        ({"values": ["unroll-count=1..99999"]}, OptctxError, "at most 10,000 values"),
        ({"values": ["unroll-count=many,2"]}, OptionValueError, "invalid for uint"),
    ],
)
def test_what_cannot_be_tried_is_an_error(
    arguments: dict[str, list[str]], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        rank(SMALL, **arguments)  # type: ignore[arg-type]


def test_llvms_parsers_take_the_values_that_are_guessed_as_far_as_types_tell() -> None:
    seen, refused = set(), set()
    for name, option in registry().items():
        if option.scope == "process" or option.alias_of:
            continue
        values = values_within_type(option, option.value)
        assert option.value not in values
        seen.update([option.type] if values else [])
        for value in values:
            literal = isinstance(value, str) and value in (name, *option.aliases)
            try:
                OptionContext({str(value): True} if literal else {name: value}, base="defaults")
            except OptionValueError:
                refused.add(name)
    assert seen >= {"bool", "boolOrDefault", "int", "uint", "uint64", "float", "double", "enum"}
    assert len(refused) < 10, refused  # parsers of their own, with narrower ranges


# Ending early


def test_a_ranking_that_ends_early_says_what_it_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    first, whole = (rank(SMALL, only=PATTERNS, trials=most) for most in (12, None))
    assert (first.ended, whole.ended, whole.left) == ("after 12 compilations", "", 0)
    assert (first.compiled, first.left > 0) == (12, True)
    assert first.left <= len(whole.trials) - len(first.trials), "others come where LLVM dies"
    assert {t.number: t.digest for t in first.trials}.items() <= {
        t.number: t.digest for t in whole.trials
    }.items()
    assert first.summary()[-1].startswith("ended after 12 compilations: nothing is known of ")
    hours = itertools.count(step=3600.0)  # one at each look
    monkeypatch.setattr(
        sys.modules["optctx.lab.rank"], "time", SimpleNamespace(monotonic=lambda: next(hours))
    )
    none = rank(SMALL, only=PATTERNS, seconds=60.0)
    assert (none.compiled, none.ended) == (0, "because the time was over")


def test_ctrl_c_hands_over_the_trials_that_have_ended() -> None:
    """From Python. A trial that runs is no failed one."""
    steps: list[int] = []

    def step(total: int) -> None:
        steps.append(total)
        if len(steps) == 2:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(60)  # which the signal ends

    values, limits = ["force-vector-width=1,2", "unroll-count=2,4"], Limits(1)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt) as caught:
            rank(SMALL, only=["unroll-count"], values=values, limits=limits, progress=step)
    finally:
        signal.signal(signal.SIGINT, before)
    assert isinstance(caught.value, Interrupted)
    ranking = caught.value.partial
    assert isinstance(ranking, Ranking)
    assert (len(ranking.trials), ranking.left) == (2, 2)
    assert ranking.summary()[-1] == "ended because it was interrupted: nothing is known of 2 values"


def test_a_killed_helper_leaves_what_is_known(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    class Fragile(Experiment):
        def all(self, more: More, window: int) -> Iterator[Answer]:
            return super().all(more, 1)  # the third is asked for when the second is answered

        def answers(self) -> list[Answer]:
            found = super().answers()
            if found and found[0].number == 1:  # the second of three
                os.kill(self.pool.process, signal.SIGKILL)
                wait_for(lambda: self.pool.is_over)
            return found

    monkeypatch.setattr(sys.modules["optctx.lab.rank"], "Experiment", Fragile)
    (tmp_path / "small.ll").write_text(SCALE)
    words = ["rank", str(tmp_path / "small.ll"), "--only", "unroll-count", "-j", "1"]
    assert main([*words, "--try", "unroll-count=2,4,8"]) == 2
    out, err = capfd.readouterr()
    assert "ended because it could not go on: nothing is known of 1 value" in out
    assert "the helper process ended with status -9 before it answered; run it again" in err


def test_the_command_prints_the_ranking(capfd: pytest.CaptureFixture[str], tmp_path: pathlib.Path) -> None:
    (tmp_path / "scale.ll").write_text(SCALE)
    words = ["rank", str(tmp_path / "scale.ll"), f"--llc=-mtriple={X86}", "--only", "unroll-count"]
    words += ["--only", "force-a*", "--try", "force-vector-width=3,1"]
    words += ["--set", "unroll-runtime", "--timeout", "60", "-j", "2"]
    assert main(words) == 0
    out, err = capfd.readouterr()
    assert err == ""
    head, best, more, _, dead, crashed, _, left, counts = out.splitlines()
    assert head.split()[:4] == ["option", "type", "base", "value"]
    assert best.startswith("unroll-count")
    assert more.startswith("force-vector-width")
    assert dead.split() == ["option", "base", "value", "state", "error"]
    assert crashed.split()[:5] == ["force-vector-width", "0", "3", "crashed", "Assertion"]
    assert left == "not tried, no values can be guessed for type list: force-attribute"
    assert "2 tried, 2 change the output, 1 not tried" in counts
