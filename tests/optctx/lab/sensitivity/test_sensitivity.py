"""Sensitivity: what changes the output is found, what does not is not, and no trial reaches anything."""

from __future__ import annotations

import dataclasses
import pathlib

import pytest

from optctx import OptionContext, registry
from optctx.compiling import FreshProcess, Job
from optctx.errors import OptctxError, OptionValueError, UnknownOptionError
from optctx.lab.sensitivity import By, Effect, Limits, Report, Trial, sensitivity
from optctx.lab.sensitivity.values import UNSET, values_within_type
from tests.support.ir_texts import COUNTED, SCALE, X86
from tests.support.scopes import process_state, scoped

pytestmark = pytest.mark.redirected

BY: tuple[By, ...] = ("size", "instructions")
KERNEL = (pathlib.Path(__file__).parents[4] / "examples" / "kernel.ll").read_text()
JOB = Job(KERNEL, triple=X86)
SMALL = Job(SCALE, triple=X86)
# Read by -O3; the first three matter to these loops, the fourth does not, the last has no values to guess.
MATTER = ["unroll-count", "force-vector-width", "unroll-runtime"]
CHOSEN = [*MATTER, "licm-mssa-optimization-cap", "force-attribute"]


@pytest.fixture(scope="module")
def steps() -> list[int]:
    return []


@pytest.fixture(scope="module")
def report(steps: list[int]) -> Report:
    return sensitivity(
        JOB,
        options=CHOSEN,
        values={"unroll-count": ["2", "8"], "force-vector-width": ["3", "1"]},  # no 3 lanes: LLVM asserts
        progress=steps.append,
    )


def effect_of(report: Report, name: str) -> Effect:
    (effect,) = (effect for effect in report.effects if effect.option == name)
    return effect


def test_options_that_matter_are_found_and_one_that_does_not_is_not(report: Report) -> None:
    assert {effect.option for effect in report.changing} == {*MATTER}
    spared = effect_of(report, "licm-mssa-optimization-cap")
    assert {trial.verdict for trial in spared.trials} == {"same"}
    assert spared.best.instructions == report.instructions
    assert report.read > 400
    assert all(effect.functions for effect in report.effects)


def test_a_value_that_crashes_llvm_is_reported_and_the_others_go_on(report: Report) -> None:
    ((effect, trial),) = report.dead
    assert (effect.option, trial.value, trial.verdict) == ("force-vector-width", "3", "crashes")
    assert trial.reason.startswith("Assertion `isPowerOf2_32")
    assert effect.best.value == "1"


def test_what_was_not_tried_is_said_with_the_reason(report: Report) -> None:
    (left,) = report.not_tried
    assert (left.option, left.type) == ("force-attribute", "list")
    assert "no values can be guessed" in left.reason


def test_the_summary_and_the_progress_count_every_trial(report: Report, steps: list[int]) -> None:
    assert report.trials == len(steps)
    assert set(steps) == {report.trials}
    expected = (
        f"{report.read} read, 4 tried, 3 change the output, 1 not tried; {report.trials} trials, 1 crashed"
    )
    assert report.summary() == expected


def test_the_ranking_is_what_single_fresh_processes_say(report: Report, fresh: FreshProcess) -> None:
    base = fresh.compile(JOB)
    assert (base.instructions, len(base.code)) == (report.instructions, report.object_size)
    sizes = {}
    for effect in report.changing:
        alone = fresh.compile(dataclasses.replace(JOB, options=(argument(effect, effect.best),)))
        assert (alone.instructions, len(alone.code)) == (effect.best.instructions, effect.best.object_size)
        assert effect.best.size_change == (len(alone.code) - len(base.code)) / len(base.code)
        sizes[effect.option] = abs(effect.best.size_change)
    assert list(sizes) == sorted(sizes, key=lambda name: -sizes[name])


def test_contexts_of_this_process_give_the_same(report: Report) -> None:
    alive = [(effect, trial) for effect in report.effects for trial in effect.trials if not trial.dead]
    assert len(alive) == report.trials - 1
    for effect, trial in alive:
        here = scoped(dataclasses.replace(JOB, options=(argument(effect, trial),)))
        assert (here.instructions, len(here.code)) == (trial.instructions, trial.object_size)


def argument(effect: Effect, trial: Trial) -> str:
    value = str(trial.value).lower() if isinstance(trial.value, bool) else trial.value
    return f"-{effect.option}={value}"


def test_ranked_by_instructions_the_order_is_another() -> None:
    options = [
        "optimize-regalloc",
        "enable-newgvn",
    ]  # the first leaves the IR alone
    orders = {by: [e.option for e in sensitivity(JOB, options=options, by=by).effects] for by in BY}
    assert orders == {"size": options, "instructions": options[::-1]}


def test_what_never_ends_or_explodes_times_out_and_the_others_go_on() -> None:
    report = sensitivity(
        SMALL,
        options=["misched-limit"],
        values={"misched-limit": ["0", "128"], "unroll-force-peel-count": ["65536"], "unroll-count": ["2"]},
        limits=Limits(timeout=2.5),
    )
    assert [(effect.option, trial.value, trial.verdict) for effect, trial in report.dead] == [
        ("misched-limit", "0", "timeout"),
        ("unroll-force-peel-count", "65536", "timeout"),
    ]
    assert all("longer than 2.5 s" in trial.reason for _, trial in report.dead)
    assert effect_of(report, "unroll-count").changes
    assert effect_of(report, "misched-limit").best.verdict == "same"


def test_what_takes_all_memory_is_stopped() -> None:
    values = {"unroll-peel-count": ["256"]}
    report = sensitivity(SMALL, options=[*values], values=values, limits=Limits(memory=8 << 20))
    ((_, trial),) = report.dead
    assert trial.verdict == "crashes"
    assert "memory" in trial.reason or "bad_alloc" in trial.reason


def test_the_base_is_what_the_calling_thread_sees(fresh: FreshProcess) -> None:
    before = process_state()
    with OptionContext({"unroll-count": 4, "enable-gvn-hoist": True}):
        report = sensitivity(SMALL, options=["unroll-count", "unroll-runtime"], limits=Limits(trials=3))
    base = fresh.compile(dataclasses.replace(SMALL, options=("-unroll-count=4", "-enable-gvn-hoist=true")))
    assert (report.instructions, report.object_size) == (base.instructions, len(base.code))
    effect = effect_of(report, "unroll-count")
    assert effect.base == 4
    both = dataclasses.replace(SMALL, options=("-unroll-count=8", "-enable-gvn-hoist=true"))
    (eight,) = (trial for trial in effect.trials if trial.value == 8)
    assert eight.object_size == len(fresh.compile(both).code)
    assert process_state() == before


def test_a_bool_or_default_is_left_out_to_be_unset(fresh: FreshProcess) -> None:
    with OptionContext({"enable-interleaved-mem-accesses": True, "use-leb128-directives": True}):
        report = sensitivity(SMALL, options=["use-leb128-directives"])
    assert {trial.value for trial in effect_of(report, "use-leb128-directives").trials} == {False, UNSET}


def test_a_choice_that_is_an_option_itself_is_tried_whichever_is_named() -> None:
    job = Job("define i32 @f(i32 %a) {\n ret i32 %a\n}", triple=X86)
    with OptionContext({"global-isel": True}):
        report = sensitivity(job, options=["regbankselect-greedy"])
    (effect,) = report.effects
    assert (effect.base, effect.best.value, effect.best.verdict) == (
        "regbankselect-fast",
        "regbankselect-greedy",
        "same",
    )


def test_patterns_choose_and_exclude_and_an_alias_is_its_option() -> None:
    report = sensitivity(
        SMALL,
        options=["slp-*", "-max-jump-table-size", "opt-bisect-limit"],
        exclude=["slp-m*", "slp-re*"],
        limits=Limits(trials=2),
    )
    tried = {effect.option for effect in report.effects}
    assert tried == {"slp-vectorize-hor", "slp-vectorize-hor-store"}
    assert {left.option: left.reason for left in report.not_tried} == {
        "max-jump-table-size": "LLVM did not read it",
        "opt-bisect-limit": "it cannot be scoped, so its reads are not seen",
        "slp-vectorize-non-power-of-2": "beyond 2 trials",
    }


def test_a_value_that_llvms_parsers_refuse_is_named_and_not_compiled() -> None:
    report = sensitivity(SMALL, options=["unroll-count"], values={"unroll-count": ["many", "2"]})
    ((name, value, words),) = report.refused
    assert (name, value) == ("unroll-count", "many")
    assert "invalid for uint" in words
    assert report.trials == 1


def test_options_that_open_windows_are_left_alone() -> None:
    report = sensitivity(SMALL, options=["view-*"])
    assert report.effects == ()
    assert {left.reason for left in report.not_tried} == {"it opens windows"}


def test_files_that_llvm_writes_are_gone(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    report = sensitivity(SMALL, options=["print-changed"], values={"print-changed": ["dot-cfg-quiet"]})
    assert report.trials == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("attributes")
def test_a_fresh_process_that_compiles_otherwise_is_an_error() -> None:
    ir = COUNTED.replace("(ptr %out) {", '(ptr %out) "optctx"="-unroll-count=2" {')
    with pytest.raises(OptctxError, match="compiles this module otherwise"):
        sensitivity(Job(ir, triple=X86), options=["unroll-count"])


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"options": ["no-such-*"]}, OptctxError, "no option matches"),
        ({"options": ["unroll-cuont"]}, UnknownOptionError, "unroll-count"),
        ({"values": {"unroll-cuont": ["1"]}}, UnknownOptionError, "unroll-count"),
    ],
)
def test_names_that_nobody_registered_are_errors(
    arguments: dict[str, object], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        sensitivity(SMALL, **arguments)  # type: ignore[arg-type]


def test_what_llvm_refuses_for_the_base_is_an_error() -> None:
    with pytest.raises(OptctxError, match="unknown pass name 'no-such-pass'"):
        sensitivity(dataclasses.replace(SMALL, passes="no-such-pass"))


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
            if value is not UNSET:
                try:
                    OptionContext({str(value): True} if literal else {name: value}, base="defaults")
                except OptionValueError:
                    refused.add(name)
    assert seen >= {"bool", "boolOrDefault", "int", "uint", "uint64", "float", "double", "enum"}
    assert len(refused) < 10, refused  # parsers of their own, with narrower ranges
