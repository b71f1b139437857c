"""A process in which programs run, so that whatever a strategy does there reaches nothing else.

Where a strategy compiles in its process, each program runs in a child of its own: strategies change options
for the process, wait for ever, and end it. Elsewhere one child runs them all.
"""

from __future__ import annotations

from evidence.strategies.choosing import STRATEGIES, open_strategy
from evidence.strategies.program import Outcome, Program
from evidence.strategies.running import run_program
from optctx.children.answers import Talk
from optctx.children.child import Channel
from optctx.children.death import Death
from optctx.children.limits import Limits
from optctx.children.pool import Pool
from optctx.compiling import Job
from optctx.compiling.job import compile_unchecked, initialise_targets
from optctx.engine.attach import attach
from optctx.errors import OptctxError
from optctx.process import reset_process_options

_SECONDS = 600.0  # that a program may take, however busy the machine is


class Host:
    """Runs programs over one strategy. A context manager; for one thread at a time."""

    def __init__(self, strategy: str, job: Job) -> None:
        """`job`: what every compilation of the programs compiles."""
        self.strategy = strategy
        self._job = job
        self._in_process = STRATEGIES[strategy].in_process
        self._pool = Pool(prepared, strategy, job)
        self._talk: Talk[Outcome] | None = None
        self._stopped = False

    def __enter__(self) -> Host:
        self._pool.start()
        if self._stopped:
            self._pool.close()
        return self

    def __exit__(self, *error: object) -> None:
        self._pool.close()

    def stop(self) -> None:
        """End the process and what it runs, from any thread. Entered later, it ends at once."""
        self._stopped = True
        self._pool.close()

    def run(self, program: Program) -> Outcome:
        """Run a program. Raises OptctxError if the process that runs programs has ended, or cannot run it."""
        outcome = self._called(program) if self._in_process else self._told(program)
        if outcome.unmade:
            raise OptctxError(f"a program cannot be run with {self.strategy!r}: {outcome.unmade}")
        return outcome

    def _called(self, program: Program) -> Outcome:
        order = (self.strategy, program, self._job)
        done = self._pool.call(run_here, *order, gives=Outcome, limits=Limits(_SECONDS))
        if done.death is not None:
            return self._of_death(done.death)
        return done.value if done.value is not None else Outcome(death=done.error)

    def _told(self, program: Program) -> Outcome:
        if self._talk is None:
            self._talk = self._pool.talk(serve, self.strategy, self._job, gives=Outcome)
        self._talk.line.tell(program)
        heard = self._talk.hear()
        return self._of_death(heard) if isinstance(heard, Death) else heard

    def _of_death(self, death: Death) -> Outcome:
        """What it says of the strategy, or of this machine."""
        if self._pool.end is not None or not self._in_process:
            raise OptctxError(f"the process that runs {self.strategy!r} has ended: {death}")
        if death.how in ("out of memory", "lost"):
            return Outcome(unmade=str(death))
        return Outcome(death=str(death))


def prepared(strategy: str, job: Job) -> None:
    """Do once what every child would do again."""
    initialise_targets()
    if STRATEGIES[strategy].in_process:
        with open_strategy(strategy):  # what it looks up, it looks up once
            attach()
            compile_unchecked(job)


def run_here(_: None, name: str, program: Program, job: Job) -> Outcome:
    """Run one program in this child. Raises OptctxError."""
    with open_strategy(name) as strategy:
        return run_program(strategy, program, job, judge_process=True)


def serve(_: None, channel: Channel, name: str, job: Job) -> None:
    """Run program after program."""
    with open_strategy(name) as strategy:
        for program in channel.hear(Program):
            outcome = run_program(strategy, program, job, judge_process=False)
            if any(step.action == "set" for step in program):
                reset_process_options()  # this process runs the next program as well
            channel.send(outcome)
