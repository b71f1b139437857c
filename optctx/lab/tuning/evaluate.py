"""One trial as plain data, and the helper process that compiles it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from optctx import OptionContext
from optctx.compiling import Emit, Job
from optctx.lab.experiment import Asked, Experiment, Plan, make_plan
from optctx.lab.outcome import Answer, Limits
from optctx.lab.space import PASSES, Space, overrides_of


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
    job: Job,
    space: Space,
    limits: Limits,
    *,
    emit: Emit | None = None,
    noted: Iterable[str] = (),
    repeats: int = 1,
) -> Plan:
    """Plan a search in which options have the values that the calling thread sees now.

    `emit`: what objectives want of each compilation; None for figures alone. `noted`: options, without
    aliases, of which is noted whether a compilation reads them. Raises OptctxError for a target that LLVM
    does not take.
    """
    return make_plan(
        {"": replace(job, emit=emit or "object")},
        limits,
        OptionContext(image=job.image),
        pipelines=space.pipelines,
        output=emit is not None,
        noted=tuple(noted),
        repeats=repeats,
    )


BASE = Candidate(-1, ())


class Evaluator(Experiment):
    """Compiles candidates on threads of a helper process, as a sweep does, and measures on this machine.

    A context manager.
    """

    def base(self, plan: Plan) -> Answer:
        """Compile with no option of the space set. Raises OptctxError for what LLVM does not take at all."""
        self.prepare(plan)
        answer, *_ = self.bases()  # each pipeline's own: their time limits are relative to these
        return replace(answer, number=BASE.number)

    def submit(self, candidate: Candidate) -> None:
        """Have a candidate compiled. `answers` has the answers under the numbers of candidates."""
        place = self.plan.pipelines.index(candidate.pipeline(self.plan))
        self.ask([(candidate.number, Asked(place, candidate.options))])
