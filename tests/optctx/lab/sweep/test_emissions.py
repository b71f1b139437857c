"""Equal modules are emitted once, and nothing comes out that a fresh process would not give."""

from __future__ import annotations

import hashlib
import tempfile
from dataclasses import replace
from typing import Any

import pytest
from llvmlite import binding
from llvmlite.binding import ModuleRef, TargetMachine

from optctx import OptionContext, registry
from optctx.compiling import FreshProcess, Job, compile_unchecked, emit_all
from optctx.lab.sweep.emissions import Emission, Emissions, digest_of
from optctx.lab.sweep.plan import Answer, Asked, Limits, Plan
from optctx.lab.sweep.worker import _compile
from optctx.lab.trials import Trial
from optctx.lab.tuning import parse_space
from optctx.lab.tuning.evaluate import Candidate, Evaluator, search_plan
from optctx.process import all_arguments
from tests.support.ir_texts import LOWERED, SCALE
from tests.support.rows import rows
from tests.support.tuning_cases import tuned

pytestmark = pytest.mark.skipif(
    "preserve-bc-uselistorder" not in registry(), reason="needs an LLVM that tells equal modules"
)

JOB = Job(SCALE + LOWERED, "default<O2>")
SETTINGS = [
    "unroll-count=1,4",  # read by passes
    "inline-threshold=100,200",  # read by passes, and changes nothing here
    "min-bit-test-cmps=2,20",  # read when a subtarget is made, and the passes make one
    "trap-unreachable=true,false",  # read when the target machine is made, before the passes
    "align-all-blocks=0,4",  # read by the code generator
]


def test_objects_are_those_of_fresh_processes(fresh: FreshProcess) -> None:
    study = tuned(JOB, parse_space(SETTINGS), sampler="grid", jobs=1, window=1)
    assert len(study.trials) == study.compiled == 32
    found: dict[str, list[Trial]] = {}
    for trial in study.trials:
        found.setdefault(trial.attributes["digest"], []).append(trial)
    assert study.emitted == len(found) == 2 * 2 * 2 * 2
    for digest, (first, again) in found.items():
        assert first.options == {**again.options, "inline-threshold": first.options["inline-threshold"]}
        options = all_arguments(OptionContext(dict(again.options)))
        assert hashlib.sha256(fresh.compile(replace(JOB, options=options)).code).hexdigest() == digest
    # Threads find what others have emitted.
    together = tuned(JOB, parse_space(SETTINGS), sampler="grid", jobs=3)
    assert [trial.attributes for trial in study.trials] == [trial.attributes for trial in together.trials]
    assert study.emitted <= together.emitted < together.compiled


def _plan(job: Job, *settings: str) -> Plan:
    return search_plan(job, parse_space(settings), Limits(jobs=1, memory=None), noted=True)


def _answers(job: Job, points: list[dict[str, str]], *settings: str) -> list[Answer]:
    """In turn, on one thread."""
    found = []
    with Evaluator(_plan(job, *settings)) as evaluator:
        evaluator.base()
        for number, point in enumerate(points):
            evaluator.submit(Candidate(number, tuple(point.items())))
            found += evaluator.answers()
    return found


def test_what_llvm_prints_while_it_emits_is_printed_each_time() -> None:
    points = [{"inline-threshold": text} for text in ("100", "200", "300")]
    quiet = _answers(JOB, points, "inline-threshold=100,200,300")
    assert [answer.emitted for answer in quiet] == [False] * 3  # the base was emitted
    loud = Job(
        "declare void @g(ptr)\n"
        "define void @f() #0 {\n  %a = alloca [64 x i8]\n  call void @g(ptr %a)\n  ret void\n}\n"
        'attributes #0 = { "warn-stack-size"="8" }\n'
    )
    answers = _answers(loud, points, "inline-threshold=100,200,300")
    assert all("exceeds limit" in " ".join(answer.printed) for answer in answers)
    assert [answer.emitted for answer in answers] == [True] * 3


def _emitted(emissions: Emissions, printed: int, job: Job = JOB) -> Emission:
    emission = Emission(emissions, {}, printed)
    assert compile_unchecked(job, emit=emission).code
    return emission


@rows("different", [{"opt_level": 0}, {"features": "+avx2"}, {"triple": "i686-linux-gnu"}])
def test_an_emission_counts_for_equal_target_machines(different: dict[str, Any]) -> None:
    emissions = Emissions(("align-all-blocks",), keep=False)
    with tempfile.TemporaryFile() as printed:
        known = _emitted(emissions, printed.fileno()).emitted
        assert known is not None
        assert not known.code
        there, here = (
            _emitted(each, printed.fileno(), replace(JOB, **different))
            for each in (emissions, Emissions((), True))
        )
        assert not there.saved
        assert there.emitted is not None
        assert here.emitted is not None
        assert there.emitted.digest == here.emitted.digest != known.digest
        again = Emission(emissions, {}, printed.fileno())
        assert compile_unchecked(JOB, emit=again).code == b""
        assert again.emitted == known
        assert again.saved == known.seconds


class _Slow(Emission):
    """Of an object that took long to emit the first time."""

    def __call__(self, job: Job, module: ModuleRef, machine: TargetMachine) -> tuple[str | None, bytes]:
        self.saved = 1000.0
        return emit_all(job, module, machine)


def test_the_time_of_a_compilation_has_that_of_its_emission() -> None:
    plan = _plan(JOB, "align-all-blocks=0,4")
    answer = _compile(plan, Asked(0, {}), _Slow(Emissions(plan.noted, keep=True), {}, -1))
    assert answer.seconds > 1000.0
    assert not answer.emitted


def test_every_module_is_emitted_where_equal_ones_cannot_be_told(monkeypatch: pytest.MonkeyPatch) -> None:
    emissions = Emissions(("align-all-blocks",), keep=True)
    monkeypatch.setattr(emissions, "_tells", False)
    with tempfile.TemporaryFile() as printed:
        assert [_emitted(emissions, printed.fileno()).saved for _ in range(2)] == [0, 0]


def test_modules_that_list_uses_in_another_order_are_not_equal() -> None:
    text = "define i32 @f(i32 %a) {\n  %b = add i32 %a, 1\n  %c = mul i32 %a, 3\n  ret i32 %c\n}\n"
    listed = text.replace("ret i32 %c\n", "ret i32 %c\n  uselistorder i32 %a, { 1, 0 }\n")
    texts, digests = [], []
    for source in (text, text, listed):
        with binding.create_context() as context, binding.parse_assembly(source, context) as module:
            texts.append(str(module))
            digests.append(digest_of(module))
    assert texts[0] == texts[1] == texts[2]  # LLVM leaves the order out of texts
    assert digests[0] == digests[1] != digests[2]
