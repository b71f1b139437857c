"""An experiment's compilations, on threads of other processes: a crash or a hang of LLVM is an answer."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Self

from optctx import OptionContext, attach
from optctx.children.crowd import PER_THREAD, Crowd
from optctx.children.messages import Limits as ChildLimits
from optctx.children.pool import Done, Pool, SharedPool
from optctx.compiling import FreshProcess, Image, Job, Result, answered, compile_unchecked, image_of
from optctx.compiling.fresh import check_target, load_llvm, module_triple, move_to, refused_reading
from optctx.compiling.job import pipeline_error
from optctx.errors import OptctxError, UnsupportedImageError
from optctx.lab.outcome import Answer, Limits, attributes_of, verified
from optctx.lab.recording import Recorded, recorded
from optctx.lab.trial import Trial
from optctx.process import Attributes, all_arguments, attributes_policy, noting, read_in, set_process_options

# What one compilation sets: names, and texts of values.
Options = Mapping[str, str]
Values = tuple[tuple[str, str], ...]
# The next ones to compile, at most so many, by number; none if there are none now.
More = Callable[[int], Sequence[tuple[int, Options]]]

BASE = -1
"""The number of the compilation without options."""
_BATCH = 16  # compilations for each thread that are under way, or waiting in the helper process


@dataclass(frozen=True)
class Plan:
    """What all compilations of an experiment share. No handles, so it can be sent to another process."""

    job: Job  # without options
    arguments: tuple[str, ...]  # set process-wide before anything is compiled
    attributes: tuple[str, ...]  # the `attributes_policy` of the calling process
    limits: Limits
    output: bool = False  # whether answers have the object
    noted: tuple[str, ...] = ()  # options whose reads answers report
    repeats: int = 1  # compilations of each, one after the other, of which the fastest counts
    directory: str | None = None  # where to compile and put temporary files; None is as this process


def make_plan(job: Job, limits: Limits) -> Plan:
    """Plan to compile a job to objects, under the options that the calling thread sees now.

    Function attributes count as they do in this process. Raises OptctxError for a target that LLVM does not
    take.
    """
    image = job.image
    arguments = all_arguments(OptionContext(image=image), image)
    if not arguments and not job.llvm:
        _attached.running()  # its server starts while this process goes on
    judge_target(job)
    job = replace(job, options=(), emit="object")
    return Plan(job, arguments, attributes_policy(image), limits)


def judge_target(job: Job) -> None:
    """Raise OptctxError for a job whose target LLVM does not have."""
    if job.is_checked:
        check_target(job.triple or module_triple(job), job)


class Experiment:
    """Compiles what a plan asks for in other processes, so a crash of LLVM does not end this one.

    A context manager, for one thread. Entering it raises OptctxError for a job that LLVM refuses under any
    options; leaving it ends every process that compiles for it. Compilations have numbers of the caller's,
    from 0 on.
    """

    pool: Pool
    _crowd: Crowd[Answer]

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.window = _BATCH * plan.limits.at_once
        self._stack = ExitStack()
        self._asked: dict[int, Options] = {}  # unanswered
        self._base: float | None = None  # seconds

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            plan, llvm = self.plan, self.plan.job.llvm
            if plan.arguments or llvm:
                self.pool = stack.enter_context(Pool(attach_under, plan.arguments, llvm))
            else:
                self.pool = _attached.running()
            _ = self.pool.process  # raises what its server finds wrong
            crowd = Crowd(
                self.pool,
                begin,
                plan,
                function=compile_one,
                gives=Answer,
                threads=plan.limits.at_once,
                limit=self._limit,
                traits=lambda number: [*self._asked[number].items()],
                memory=plan.limits.memory,
            )
            self._crowd = stack.enter_context(crowd)
            if error := self._error():
                raise OptctxError(error)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def recorded(self) -> Recorded:
        """What LLVM reads for the job without options. Raises OptctxError if it takes too long."""
        done = self.pool.call(record_base, self.plan, gives=Recorded, limits=self._limits)
        return answered(done, "cannot record what LLVM reads")

    @property
    def _limits(self) -> ChildLimits:
        """Of one compilation by itself, before the base is known."""
        seconds, memory = self.plan.limits.seconds(), self.plan.limits.memory
        return ChildLimits(seconds, None if memory is None else memory + PER_THREAD)

    def compile_base(self) -> Answer:
        """Compile without options: later limits go by this. Call it while nothing is under way.

        Raises EndedEarlyError if the server dies.
        """
        answer = self.compile({})
        self._base = answer.seconds if answer.state == "ok" else None
        return answer

    def compile(self, options: Options) -> Answer:
        """Compile once. Call it while nothing is under way. Raises EndedEarlyError if the server dies."""
        self.ask([(BASE, options)])
        (answer,) = self.answers()
        return answer

    def ask(self, asked: Iterable[tuple[int, Options]]) -> None:
        """Have more compiled, before or after earlier answers. Raises EndedEarlyError if the server dies."""
        for number, each in asked:
            self._asked[number] = each
            self._crowd.submit(number, each)

    def answers(self) -> list[Answer]:
        """Wait for answers to what was asked, in any order. Raises EndedEarlyError if the server dies."""
        found = [self._answer(number, done) for number, done in self._crowd.results()]
        for answer in found:
            del self._asked[answer.number]
        return found

    def all(self, more: More, made: Callable[[Answer], Trial]) -> Generator[Trial, None, None]:
        """Have all compiled; yield the trial that is made of each answer as it comes."""
        while True:
            self.ask(more(self.window - len(self._asked)))
            if not self._asked:
                return
            for answer in self.answers():
                yield made(answer)

    def verified(self, more: More, made: Callable[[Answer], Trial]) -> Generator[Trial, None, None]:
        """As `all`; a fresh process compiles each once more, under the options that the calling thread sees.

        That happens in batches, so the trials' times are not disturbed.
        """
        limits = self.plan.limits
        with (
            ThreadPoolExecutor(limits.at_once) as threads,
            # It ends first, so the threads do not wait for jobs that still run.
            FreshProcess(timeout=limits.seconds(), memory=limits.memory) as fresh,
        ):
            for batch in iter(lambda: dict(more(self.window)), {}):
                waiting = iter(batch.items())
                ended = [*self.all(partial(_taken, waiting), made)]
                jobs = [self._reference(batch[trial.number]) for trial in ended]
                yield from threads.map(partial(_judged, fresh), ended, jobs)

    def _reference(self, options: Options) -> Job:
        """What a fresh process compiles to compare."""
        job = self.plan.job
        return replace(job, options=all_arguments(OptionContext(options, image=job.image), job.image))

    def _limit(self, number: int) -> float:
        """Seconds that what was asked may take, all of its compilations together."""
        return self.plan.limits.seconds(self._base, self.plan.repeats)

    def _answer(self, number: int, done: Done[Answer]) -> Answer:
        printed = tuple(filter(str.strip, done.printed.splitlines()))
        if done.death is not None:
            return Answer(done.death.end, number, error=str(done.death))
        if done.value is None:
            return Answer("failed", number, error=done.error, printed=printed)
        return replace(done.value, number=number, printed=printed)

    def _error(self) -> str:
        """The error that the job has under any options; "" for none."""
        done = self.pool.call(check, self.plan, gives=str, limits=self._limits)
        if done.death is not None:  # if LLVM has not refused to read the module, the rows will say how
            return refused_reading(done.death.printed)
        return done.error or done.value or ""


def _taken(waiting: Iterator[tuple[int, Options]], count: int) -> list[tuple[int, Options]]:
    return list(islice(waiting, count))


def _judged(fresh: FreshProcess, trial: Trial, job: Job) -> Trial:
    return trial if trial.state == "timed out" else verified(trial, fresh.compile(job))


# What the other processes do: their server attaches, its children compile


def attach_under(arguments: tuple[str, ...], llvm: str) -> None:
    """Prepare a server under the options of the calling process, which come before attaching."""
    load_llvm()
    set_process_options(arguments, image_of(llvm))
    _attach(image_of(llvm), "ignore")


# Of all experiments whose base is LLVM's: the next one begins at once.
_attached = SharedPool(attach_under, (), "")


def begin(_: None, plan: Plan) -> Plan:
    """In a child: go where the plan compiles, and attach with the settings of the calling process."""
    move_to(plan.directory)
    _attach(plan.job.image, *plan.attributes)  # type: ignore[arg-type]
    return plan


def _attach(image: Image | None, attributes: Attributes, *trust: str) -> None:
    """Attach with the settings of the calling process, which has issued the warnings already."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        attach(image, attributes=attributes, trust=[each for each in trust if each] if trust else None)


def check(_: None, plan: Plan) -> str:
    """The error that a job has under any options, of its module, its pipeline or its target; "" for none."""
    begin(_, plan)
    read = compile_unchecked(replace(plan.job, passes="verify", emit="none"))
    return read.error or pipeline_error(plan.job)


def record_base(_: None, plan: Plan) -> Recorded:
    """What LLVM reads for the job. Raises OptctxError if LLVM refuses it."""
    begin(_, plan)
    return recorded(_, plan.job)


def compile_one(plan: Plan, options: Options) -> Answer:
    """Compile one combination, on a thread of several or in a process of its own."""
    job = plan.job
    try:
        with OptionContext(options, image=job.image):
            first, read = _recorded(job, plan.noted) if plan.noted else (compile_unchecked(job), None)
            result = _fastest(first, job, plan.repeats - 1)
    except OptctxError as error:
        return Answer("failed", error=str(error))
    if result.error is not None:
        return Answer("failed", error=result.error)
    code = result.code if plan.output else b""
    return Answer("ok", seconds=result.seconds, attributes=attributes_of(result), code=code, read=read)


def _fastest(first: Result, job: Job, more: int) -> Result:
    """Compile so many times more. Return a result without output, or else the one that took least."""
    results = [first, *(compile_unchecked(job) for _ in range(more))]
    return min(results, key=lambda each: (each.error is None, each.seconds))


def _recorded(job: Job, noted: tuple[str, ...]) -> tuple[Result, frozenset[str] | None]:
    """Compile. Return the result, and which of the noted options LLVM read (None if unknown)."""
    reading = noting(frozenset(noted), job.image)
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(reading)
        except UnsupportedImageError:  # this thread blocks SIGSEGV, or another handler has it
            return compile_unchecked(job), None
        result = compile_unchecked(job)
    try:
        return result, read_in(reading)
    except OptctxError:
        return result, None


# What need not be compiled again


class ByReads:
    """Answers under the values of the options that the compilation read.

    A compilation is a function of the options that it reads, one after the other. With the same values of
    those, it would read the same ones and do the same.
    """

    def __init__(self, targets: Mapping[str, str]) -> None:
        """Take each option's own name, by the name that is used for it."""
        self._targets = targets
        self._read: dict[frozenset[str], None] = {}  # in order of first use
        self._answers: dict[tuple[frozenset[str], Values], Answer] = {}

    def add(self, options: Options, answer: Answer) -> None:
        """Enter what came out if it is known what was read, and if no such answer is known."""
        if answer.state == "ok" and answer.read is not None:
            self._read[answer.read] = None
            self._answers.setdefault((answer.read, self._values(options, answer.read)), answer)

    def find(self, options: Options) -> Answer | None:
        """The answer; None if it is not known."""
        keys = ((read, self._values(options, read)) for read in self._read)
        return next((self._answers[key] for key in keys if key in self._answers), None)

    def _values(self, options: Options, read: frozenset[str]) -> Values:
        """What the options that were read have, without aliases."""
        targets = ((self._targets[name], text) for name, text in options.items())
        return tuple(sorted(each for each in targets if each[0] in read))
