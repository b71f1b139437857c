"""One trial as plain data, and what compiles it: here in a helper process of this one, or in any process."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

from optctx import OptionContext, registry
from optctx.compiling import Emit, Job
from optctx.errors import OptctxError
from optctx.lab.space import PASSES, Space, overrides_of
from optctx.lab.sweep.plan import Answer, Asked, Limits, Plan, make_plan
from optctx.lab.sweep.process import SweepProcess
from optctx.lab.timing import Confirmation, Interval, Stop
from optctx.lab.tuning.objectives import Measure, Measured, RunTime
from optctx.locks import lock_left_behind


@dataclass(frozen=True)
class Candidate:
    """What one trial tries. `point`: (dimension, text of its value) for the dimensions that count."""

    number: int
    point: tuple[tuple[str, str], ...]

    @property
    def options(self) -> dict[str, str]:
        """What it sets."""
        return overrides_of(dict(self.point))

    def pipeline(self, plan: Plan) -> str:
        return dict(self.point).get(PASSES, plan.pipelines[0])


def search_plan(
    job: Job, space: Space, limits: Limits, *, emit: Emit | None = None, noted: bool = False, repeats: int = 1
) -> Plan:
    """Plan a search in which options have the values that the calling thread sees now.

    `emit`: what objectives want of each compilation; None for figures alone. `noted`: note which options of
    the space each compilation reads. Raises OptctxError for a target that LLVM does not take.
    """
    names = [each.name for each in space.dimensions if each.name != PASSES]
    return make_plan(
        {"": replace(job, emit=emit or "object")},
        limits,
        OptionContext(),
        pipelines=space.pipelines,
        output=emit is not None,
        noted=tuple(registry()[name].alias_of or name for name in names) if noted else (),
        repeats=repeats,
    )


BASE = Candidate(-1, ())


class LocalEvaluator(SweepProcess):
    """Compiles candidates on threads of a helper process, as a sweep does, and measures on this machine.

    A context manager. `refused`, `lost` and `model` are as those of `RemoteEvaluator`, which does the same.
    """

    refused: Sequence[str] = ()
    lost: Sequence[str] = ()
    model = ""

    def __init__(self, plan: Plan) -> None:
        super().__init__()
        self.plan = plan

    def __enter__(self) -> LocalEvaluator:
        super().__enter__()
        return self

    @property
    def enough(self) -> int:
        """How many candidates under way keep it busy."""
        return 2 * self.plan.limits.at_once

    def base(self) -> Answer:
        """Compile with no option of the space set. Raises OptctxError for what LLVM does not take at all."""
        self.prepare(self.plan)
        answer, *_ = self.bases()  # each pipeline's own: their time limits are relative to these
        return replace(answer, number=BASE.number)

    def submit(self, candidate: Candidate) -> None:
        """Have a candidate compiled. `answers` has the answers under the numbers of candidates."""
        place = self.plan.pipelines.index(candidate.pipeline(self.plan))
        self.ask([(candidate.number, Asked(place, candidate.options))])

    def session(
        self, objective: Measured, base: bytes, stop: Stop | None = None
    ) -> AbstractContextManager[Measure]:
        """Measure as the objective's own session does. Raises OptctxError if the base cannot be run."""
        return objective.session(base, stop)

    def confirm(
        self, objective: RunTime, base: bytes, code: bytes, first: Interval, seed: int
    ) -> Confirmation:
        """Check one candidate again."""
        return objective.confirm(base, code, first, seed)


def evaluate(plan: Plan, candidate: Candidate) -> Answer:
    """Compile one candidate. A crash, a hang and a fatal error are states of the answer.

    Plain data in and out: any executor can call it on any machine with the same LLVM. A helper process, which
    stays for the thread's next call with the same plan, does the work, one at a time. Raises OptctxError if
    the helper is killed; the next call starts another one.
    """
    helper = _helper(replace(plan, limits=replace(plan.limits, jobs=1)))
    if not candidate.point:
        return replace(helper.plain, number=candidate.number)
    try:
        helper.evaluator.submit(candidate)
        (answer,) = helper.evaluator.answers()
    except BaseException:  # an interrupt, too: what is not awaited would be the next call's answer
        helper.end()
        raise
    return answer


class _Helper:
    """Compiles one candidate after the other for one thread, and ends with it. A fork leaves it alone."""

    def __init__(self, plan: Plan) -> None:
        self.key, self.evaluator = (plan, os.getpid()), LocalEvaluator(plan)
        self.end = weakref.finalize(self, self.evaluator.__exit__)
        self.evaluator.__enter__()
        with _entering:
            _helpers.add(self)
        try:
            self.plain = self.evaluator.base()
        except OptctxError:
            self.end()
            raise


def _helper(plan: Plan) -> _Helper:
    """The helper of this thread for a plan. One that is for another plan, or has ended, is replaced."""
    helper: _Helper | None = getattr(_of_thread, "helper", None)
    if helper is not None and helper.end.alive and helper.key == (plan, os.getpid()):
        return helper
    if helper is not None:
        helper.end()
    helper = _of_thread.helper = _Helper(plan)
    return helper


def end_helpers() -> None:
    """End the helpers of all threads of this process, with what they compile. They start again if needed."""
    with _entering:
        found = list(_helpers)
    for helper in found:
        helper.end()


_of_thread = threading.local()
_helpers: weakref.WeakSet[_Helper] = weakref.WeakSet()
_entering = lock_left_behind()
