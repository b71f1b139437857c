"""A process in which programs run, so that whatever a strategy does there reaches nothing else.

Each program runs in a child of its own: strategies change options for the process, wait for ever, and end it.
"""

from __future__ import annotations

from evidence.strategies import open_strategy
from evidence.strategies.program import Outcome, Program
from evidence.strategies.running import run_program
from optctx.children.messages import Limits
from optctx.children.pool import Pool
from optctx.compiling import Job
from optctx.compiling.job import compile_unchecked, initialise_targets
from optctx.errors import OptctxError

_LIMITS = Limits(600.0)  # seconds that a program may take, however busy the machine is


class Host:
    """Runs programs over one strategy. A context manager."""

    def __init__(self, strategy: str, job: Job) -> None:
        """`job`: what every compilation of the programs compiles."""
        self.strategy = strategy
        self._job = job

    def __enter__(self) -> Host:
        self._pool = Pool(prepared, self.strategy, self._job)
        return self

    def __exit__(self, *error: object) -> None:
        self._pool.close()

    def run(self, program: Program) -> Outcome:
        """Run a program. Raises OptctxError if the process that runs programs has ended, or cannot run it."""
        order = (self.strategy, program, self._job)
        done = self._pool.call(run_here, *order, gives=Outcome, limits=_LIMITS)
        if self._pool.is_over:
            raise OptctxError(f"the process that runs {self.strategy!r} has ended: {done.death}")
        if done.death is not None:
            words = str(done.death)
            lost = done.death.end in ("out of memory", "lost")
            outcome = Outcome(unmade=words) if lost else Outcome(death=words)
        else:
            outcome = done.value if done.value is not None else Outcome(death=done.error)
        if outcome.unmade:
            raise OptctxError(f"a program cannot be run with {self.strategy!r}: {outcome.unmade}")
        return outcome


def prepared(strategy: str, job: Job) -> None:
    """Do once what every child would do again."""
    if not job.llvm:
        initialise_targets()
    way = open_strategy(strategy, job.llvm)
    if not way.in_process:
        way.prepare()
        return
    with way:  # what it looks up, it looks up once
        way.prepare()
        compile_unchecked(job)


def run_here(_: None, name: str, program: Program, job: Job) -> Outcome:
    """Run one program in this child. Raises OptctxError."""
    with open_strategy(name, job.llvm) as strategy:
        return run_program(strategy, program, job)
