"""The processes that compile an experiment, as the calling process sees them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import replace

from optctx.children.answers import Done
from optctx.children.crowd import PER_THREAD, Crowd
from optctx.children.limits import Limits
from optctx.children.pool import Pool, SharedPool
from optctx.compiling.fresh import answered, llvm_pool, refused_reading
from optctx.errors import EndedEarlyError
from optctx.lab.sweep.plan import Answer, Asked, Plan
from optctx.lab.sweep.recording import Recorded, recorded
from optctx.lab.sweep.worker import (
    attach_once,
    check,
    check_module,
    compile_one,
    prepare,
)

_LINES = 100  # kept of what LLVM prints in one compilation
_LINE = 500  # characters kept of a line

# Attaching takes most of the time that a server needs to prepare: the next experiment has it already.
_attached = SharedPool(attach_once, within=llvm_pool)


class SweepProcess:
    """Compiles what a plan asks for in other processes, so a crash of LLVM does not end this one.

    A context manager, for one thread. Leaving it ends every process that compiles for it. Compilations have
    numbers of the caller's, from 0 on. `prepare` comes first: it makes the `pool` that compiles the `plan`.
    """

    pool: Pool
    plan: Plan
    _crowd: Crowd[Answer]

    def __init__(self) -> None:
        self._pools = ExitStack()
        self._asked: dict[int, Asked] = {}  # unanswered
        self._taken: dict[int, list[Answer]] = {}  # of those that are compiled several times
        self._bases: dict[int, float] = {}  # seconds, by job

    def __enter__(self) -> SweepProcess:
        llvm_pool()  # its server starts while the caller makes the plan
        return self

    def __exit__(self, *error: object) -> None:
        self._pools.close()

    def prepare(self, plan: Plan) -> None:
        """Take the plan. Raises OptctxError for the first job that LLVM refuses under any options."""
        self.plan = plan
        # Options of the process count before LLVM is attached to, as in the calling process.
        within = llvm_pool() if plan.arguments else _attached.running()
        self.pool = Pool(
            prepare, plan, within=within, name="helper process of the sweep", directory=plan.directory
        )
        self._pools.callback(self.pool.close)
        self.pool.start()
        _ = self.pool.process  # raises what its server finds wrong
        self._crowd = Crowd(
            self.pool,
            compile_one,
            Answer,
            threads=plan.limits.at_once,
            limit=self._limit,
            traits=self._settings,
            memory=plan.limits.memory,
        )
        for place in range(len(plan.jobs)):
            if error := self._error(place):
                raise plan.refused(place, error)

    def recorded(self) -> Recorded:
        """What LLVM reads for the first job without options. Raises OptctxError if it takes too long."""
        done = self.pool.call(recorded, self.plan.jobs[0], gives=Recorded, limits=self._limits)
        return answered(done, "cannot record what LLVM reads", self.plan.limits.seconds())

    @property
    def _limits(self) -> Limits:
        """Of one compilation by itself, before the bases are known."""
        seconds, memory = self.plan.limits.seconds(), self.plan.limits.memory
        return Limits(seconds, None if memory is None else memory + PER_THREAD)

    def bases(self) -> list[Answer]:
        """Compile each job without options: later limits go by these. Call it while nothing is under way.

        Raises EndedEarlyError if the server dies.
        """
        places = range(len(self.plan.jobs))
        self.ask((~place, Asked(place, {})) for place in places)
        found: dict[int, Answer] = {}
        while answers := self.answers():
            found.update((~answer.number, answer) for answer in answers)
        self._bases = {place: answer.seconds for place, answer in found.items() if answer.state == "ok"}
        return [found[place] for place in places]

    def ask(self, asked: Iterable[tuple[int, Asked]]) -> None:
        """Have more compiled, before or after earlier answers. Raises EndedEarlyError if the server dies."""
        for number, each in asked:
            self._asked[number] = each
            self._crowd.submit(number, each)

    def answers(self) -> list[Answer]:
        """Wait for answers to what was asked, in any order. Raises EndedEarlyError if the server dies.

        What the plan has compiled several times is answered by the fastest, or by the first without output.
        """
        found: list[Answer] = []
        while not found and (ended := self._results()):
            found = [answer for number, done in ended if (answer := self._best(number, done))]
        return found

    def _results(self) -> list[tuple[int, Done[Answer]]]:
        try:
            return self._crowd.results()
        except EndedEarlyError as error:
            raise EndedEarlyError(f"{error}; run it again") from None

    def _best(self, number: int, done: Done[Answer]) -> Answer | None:
        """The answer; None if it is compiled once more."""
        answer = self._answer(number, done)
        taken = [*self._taken.pop(number, ()), answer]
        if answer.state == "ok" and len(taken) < self.plan.repeats:
            self._taken[number] = taken
            self._crowd.submit(number, self._asked[number])
            return None
        del self._asked[number]
        return answer if answer.state != "ok" else min(taken, key=lambda each: each.seconds)

    def all(self, asked: Iterable[tuple[int, Asked]], window: int) -> Iterator[Answer]:
        """Have all compiled, at most `window` of them under way; yield each answer as it comes."""
        waiting, under_way = iter(asked), 0
        while True:
            more = [each for _, each in zip(range(window - under_way), waiting, strict=False)]
            self.ask(more)
            under_way += len(more)
            if not under_way:
                return
            for answer in self.answers():
                under_way -= 1
                yield answer

    def _settings(self, number: int) -> list[tuple[int, str, str]]:
        asked = self._asked[number]
        return [(asked.job, name, value) for name, value in asked.options.items()]

    def _limit(self, number: int) -> float:
        """Seconds that what was asked may take."""
        asked = self._asked[number]
        return asked.limit or self.plan.limits.seconds(self._bases.get(asked.job))

    def _answer(self, number: int, done: Done[Answer]) -> Answer:
        lines = done.printed.splitlines()[-_LINES:]
        printed = tuple(line[:_LINE] for line in lines if line.strip())
        if done.death is not None and done.death.how == "timed out":
            return Answer("timed out", number, error=f"took longer than {self._limit(number):g} s")
        if done.death is not None:
            return Answer(done.death.end, number, error=str(done.death))
        if done.value is None:
            return Answer("failed", number, error=done.error, printed=printed)
        return replace(done.value, number=number, printed=printed)

    def _error(self, place: int) -> str:
        """The error that a job has under any options; "" for none."""
        done = self.pool.call(check, place, gives=str, limits=self._limits)
        if done.death is not None:  # if the pipeline killed LLVM, the rows will say so
            done = self.pool.call(check_module, place, gives=str, limits=self._limits)
        if self.pool.end is not None:
            raise EndedEarlyError(f"{self.pool.end}; run it again")
        if done.death is None:
            return done.error or done.value or ""
        if refused := refused_reading(done.death.printed):
            return refused
        late = done.death.how == "timed out"
        cause = f"it took longer than {self.plan.limits.seconds():g} s" if late else str(done.death)
        return f"cannot read the module: the process that read it ended ({cause})"
