"""A ranking: what changes the output is found, what does not is not, and no trial reaches anything."""

from __future__ import annotations

import dataclasses
import itertools
import pathlib
import sys
from types import SimpleNamespace

import pytest

import optctx.lab
from optctx import OptionContext, registry
from optctx.compiling import FreshProcess, Job
from optctx.errors import OptctxError, OptionValueError
from optctx.lab.command.main import main
from optctx.lab.rank import Ranking, rank, values_within_type
from tests.support.ir_texts import SCALE, X86

KERNEL = (pathlib.Path(__file__).parents[3] / "examples" / "kernel.ll").read_text()
JOB = Job(KERNEL, triple=X86)
SMALL = Job(SCALE, triple=X86)
# Read by -O3; the first three matter to these loops.
MATTER = ["unroll-count", "force-vector-width", "unroll-runtime"]
VALUES = ["unroll-count=2,8", "force-vector-width=3,1"]  # no 3 lanes: LLVM asserts
# One that does not matter, and one that LLVM dies of with the first value.
SPARED, FRAGILE = "licm-mssa-optimization-cap", "tail-dup-placement-penalty"
PATTERNS = ["slp-vectorize-hor*", "-max-jump-table-size", "opt-bisect-limit", "view-isel-dags"]
NOT_TRIED = {
    "force-attribute": "no values can be guessed for type list",
    "view-isel-dags": "it opens windows",
    "max-jump-table-size": "LLVM did not read it",
    "opt-bisect-limit": "it cannot be scoped, so its reads are not seen",
}
STEPS: list[int] = []


@pytest.fixture(scope="module")
def ranking() -> Ranking:
    only = [*MATTER, SPARED, FRAGILE, "force-attribute", *PATTERNS]
    return rank(JOB, only=only, values=VALUES, progress=STEPS.append)


def test_options_that_matter_are_found_and_one_that_does_not_is_not(ranking: Ranking) -> None:
    changing = {effect.option for effect in ranking.changing}
    assert {*MATTER} <= changing
    [spared] = [effect for effect in ranking.effects if effect.option == SPARED]
    assert {trial.digest for trial in spared.trials} == {ranking.base.digest}
    assert ranking.read > 400
    assert all(effect.functions for effect in ranking.effects)
    names = {effect.option for effect in ranking.effects}
    assert names == {*MATTER, SPARED, FRAGILE, "slp-vectorize-hor", "slp-vectorize-hor-store"}
    assert {left.option: left.reason for left in ranking.not_tried} == NOT_TRIED
    count = len(ranking.trials)
    assert len(STEPS) == STEPS[-1] == count
    assert ranking.summary() == [
        f"{ranking.read} read, 7 tried, {len(changing)} change the output, 4 not tried; "
        f"{count} values, 2 crashed"
    ]


def test_what_is_given_is_all_tried_and_otherwise_one_value_and_another_if_llvm_dies(
    ranking: Ranking,
) -> None:
    tried = {
        each.option: sorted(trial.options[each.option] for trial in each.trials) for each in ranking.effects
    }
    assert (tried[MATTER[0]], tried[MATTER[1]]) == (["2", "8"], ["1", "3"])
    assert (tried[SPARED], tried[FRAGILE]) == (["0"], ["0", "1"])
    dead = {effect.option: (trial.options, trial.state, effect.value) for effect, trial in ranking.dead}
    assert dead.keys() == {MATTER[1], FRAGILE}
    assert dead[MATTER[1]] == ({MATTER[1]: "3"}, "crashed", "1")


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


def test_what_often_matters_is_compiled_before_a_limit_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    names = (pathlib.Path(optctx.lab.__file__).parent / "likely.txt").read_text().split()
    assert len(names) == len({*names})
    known = {name for name in names if name in registry()}
    assert len(known) > 0.8 * len(names), "of another LLVM"
    first = rank(SMALL, only=["[a-u]*"], trials=12)
    assert {effect.option for effect in first.effects} <= known
    assert len(first.changing) > 5
    assert (first.ended, len(first.trials), first.left > 0) == ("after 12 compilations", 12, True)
    assert first.summary()[-1].startswith("ended after 12 compilations: nothing is known of ")
    hours = itertools.count(step=3600.0)  # one at each look
    monkeypatch.setattr(
        sys.modules["optctx.lab.rank"], "time", SimpleNamespace(monotonic=lambda: next(hours))
    )
    none = rank(SMALL, only=["unroll*"], seconds=60.0)
    assert (none.trials, none.ended) == ([], "because the time was over")


def test_ranked_by_instructions_the_order_is_another() -> None:
    options = ["optimize-regalloc", "enable-newgvn"]  # the first leaves the IR alone
    for by, order in (("size", options), ("instructions", options[::-1])):
        assert [effect.option for effect in rank(JOB, only=options, by=by).effects] == order


def test_a_choice_that_is_an_option_itself_is_tried_whichever_is_named() -> None:
    job = Job("define i32 @f(i32 %a) {\n ret i32 %a\n}", triple=X86)
    with OptionContext({"global-isel": True}):
        (effect,) = rank(job, only=["regbankselect-greedy"]).effects
    assert (effect.base, effect.value, effect.changes) == (
        "regbankselect-fast",
        "regbankselect-greedy",
        False,
    )


def test_files_that_llvm_writes_are_gone(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = rank(SMALL, only=["print-changed"], values=["print-changed=dot-cfg-quiet"])
    assert len(found.trials) == 1
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_tried_is_an_error() -> None:
    with pytest.raises(OptctxError, match="no option matches"):
        rank(SMALL, only=["no-such-*"])
    with pytest.raises(OptctxError, match="at most 10,000 values"):
        rank(SMALL, values=["unroll-count=1..99999"])
    with (
        OptionContext({"force-vector-width": 3}),
        pytest.raises(OptctxError, match="cannot compile the base"),
    ):
        rank(SMALL, only=["unroll-count"])


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
