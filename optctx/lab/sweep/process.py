"""The processes that compile a sweep, as the calling process sees them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from optctx.children.answers import Done
from optctx.children.crowd import PER_THREAD, Crowd
from optctx.children.limits import Limits
from optctx.children.pool import Pool
from optctx.compiling.fresh import llvm_pool
from optctx.errors import OptctxError
from optctx.lab.sweep.plan import Answer, Asked, Plan
from optctx.lab.sweep.worker import check, check_module, compile_alone, compile_together, prepare

__all__ = ["SweepProcess"]

_LINES = 100  # kept of what LLVM prints in one compilation
_LINE = 500  # characters kept of a line


class SweepProcess:
    """Compiles the combinations of a plan in other processes, so a crash of LLVM does not end this one.

    A context manager, for one thread. Leaving it ends every process that compiles for it.
    """

    def __init__(self) -> None:
        self._pool: Pool | None = None
        self._crowd: Crowd[Answer] | None = None
        self._plan: Plan | None = None
        self._asked: dict[int, Asked] = {}  # unanswered
        self._baselines: dict[int, float] = {}  # seconds, by job
        self._ready: list[Answer] = []

    def __enter__(self) -> SweepProcess:
        llvm_pool()  # its server starts while the caller makes the plan
        return self

    def __exit__(self, *error: object) -> None:
        if self._pool is not None:
            self._pool.close()

    @property
    def pool(self) -> Pool:
        """The pool that compiles, once it has a plan."""
        assert self._pool is not None, "it has no plan"
        return self._pool

    def prepare(self, plan: Plan) -> tuple[str, ...]:
        """Take the plan. Returns the errors that each job has under any options; "" for none."""
        self._plan, self._baselines = plan, dict(plan.seconds)
        self._pool = Pool(
            prepare, plan, within=llvm_pool(), name="helper process of the sweep", directory=plan.directory
        )
        self._pool.start()
        _ = self._pool.process  # raises what its server finds wrong
        self._crowd = Crowd(
            self._pool,
            compile_together,
            Answer,
            threads=plan.threads,
            limit=self._limit,
            traits=self._settings,
            memory=plan.memory,
            alone=compile_alone,
        )
        return tuple(map(self._error, range(len(plan.jobs))))

    def compile(self, numbers: Iterable[int]) -> Iterator[Answer]:
        """Compile combinations and yield each answer as it comes. Raises OptctxError if the server dies."""
        assert self._plan is not None
        waiting = list(map(self._plan.asked, numbers))
        self.ask(waiting)
        for _ in range(len(waiting)):
            if not self._ready:
                self._ready = self._results()
            yield self._ready.pop(0)

    def ask(self, asked: Iterable[Asked]) -> None:
        """Have more compiled, before or after earlier answers. Raises OptctxError if the server dies."""
        assert self._crowd is not None
        for each in asked:
            self._asked[each.number] = each
            self._crowd.submit(each.number, each)

    def answers(self) -> list[Answer]:
        """Wait for answers to what was asked, in any order. Raises OptctxError if the server dies."""
        return self._results()

    def _results(self) -> list[Answer]:
        assert self._crowd is not None
        try:
            return [self._answer(number, done) for number, done in self._crowd.results()]
        except OptctxError as error:
            raise OptctxError(f"{error}; run the sweep again") from None

    def _settings(self, number: int) -> list[tuple[int, str, str]]:
        asked = self._asked[number]
        return [(asked.job, name, value) for name, value in asked.options.items()]

    def _limit(self, number: int) -> float:
        """Seconds that a request may take."""
        assert self._plan is not None
        asked = self._asked[number]
        return asked.limit or self._plan.limit(self._baselines.get(asked.job))

    def _answer(self, number: int, done: Done[Answer]) -> Answer:
        lines = done.printed.splitlines()[-_LINES:]
        printed = tuple(line[:_LINE] for line in lines if line.strip())
        limit = self._limit(number)
        job = self._asked.pop(number).job
        if done.death is not None:
            late = done.death.how == "timed out"
            if late:
                return Answer(number, "timed out", error=f"took longer than {limit:g} s")
            return Answer(number, "crashed", error=str(done.death))
        if done.value is None:
            return Answer(number, "failed", error=done.error, printed=printed)
        if number == job and done.value.state == "ok":
            self._baselines[job] = done.value.seconds
        return replace(done.value, number=number, printed=printed)

    def _error(self, place: int) -> str:
        """The error that a job has under any options; "" for none."""
        assert self._plan is not None
        seconds = self._plan.limit(None)
        memory = None if self._plan.memory is None else self._plan.memory + PER_THREAD
        limits = Limits(seconds, memory)
        done = self.pool.call(check, place, gives=str, limits=limits)
        if done.death is not None:  # if the pipeline killed LLVM, the rows will say so
            done = self.pool.call(check_module, place, gives=str, limits=limits)
        if self.pool.end is not None:
            raise OptctxError(f"{self.pool.end}; run the sweep again")
        if done.death is None:
            return done.error or done.value or ""
        late = done.death.how == "timed out"
        cause = f"it took longer than {seconds:g} s" if late else str(done.death)
        return f"cannot read the module: the process that read it ended ({cause})"
