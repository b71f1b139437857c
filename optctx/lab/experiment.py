"""An experiment's compilations, on threads of other processes: a crash or a hang of LLVM is an answer."""

from __future__ import annotations

import contextlib
import hashlib
import os
import warnings
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Generic, Self, TypeVar

from optctx import OptionContext, attach
from optctx.children.crowd import PER_THREAD, Crowd
from optctx.children.messages import Limits as ChildLimits
from optctx.children.pool import Done, Pool, SharedPool
from optctx.compiling import FreshProcess, Image, Job, Result, answered, compile_unchecked, image_of
from optctx.compiling.fresh import load_llvm, move_to, refused_reading
from optctx.compiling.job import pipeline_error
from optctx.compiling.targets import target_problem
from optctx.errors import EndedEarlyError, OptctxError, UnsupportedImageError
from optctx.lab.outcome import Answer, Limits, verified
from optctx.lab.recording import Recorded, recorded
from optctx.lab.trial import Trial
from optctx.process import Attributes, all_arguments, attributes_policy, noting, read_in, set_process_options

Known = TypeVar("Known")
# The next ones to compile, at most so many, by number; none if there are none now.
More = Callable[[int], Sequence[tuple[int, "Asked"]]]

_BATCH = 16  # compilations for each thread that are under way, or waiting in the helper process
_LINES, _LINE = 100, 500  # lines kept of what LLVM prints in one compilation, and characters of a line


@dataclass(frozen=True)
class Plan:
    """What all compilations of an experiment share. No handles, so it can be sent to another process."""

    jobs: tuple[Job, ...]  # one for each pipeline
    arguments: tuple[str, ...]  # set process-wide before anything is compiled
    attributes: tuple[str, ...]  # the `attributes_policy` of the calling process
    limits: Limits
    output: bool = False  # whether answers have the object
    noted: tuple[str, ...] = ()  # options whose reads answers report
    repeats: int = 1  # compilations of each that is asked for, of which the fastest counts
    directory: bytes | None = None  # where to compile and put temporary files; None is as this process

    @property
    def folder(self) -> str | None:
        """The directory, as FreshProcess takes it."""
        return None if self.directory is None else os.fsdecode(self.directory)

    @property
    def pipelines(self) -> tuple[str, ...]:
        """Of the jobs."""
        return tuple(job.passes for job in self.jobs)


def make_plan(
    job: Job,
    limits: Limits,
    base: OptionContext,
    pipelines: Sequence[str] = (),
) -> Plan:
    """Plan to compile a job under the options of `base`, with each of the pipelines, by default with its own.

    Function attributes count as they do in this process. Raises OptctxError for a target that LLVM does not
    take.
    """
    image = job.image
    judge_target(job)
    jobs = tuple(replace(job, options=(), passes=passes) for passes in pipelines or (job.passes,))
    return Plan(jobs, all_arguments(base, image), attributes_policy(image), limits)


def judge_target(job: Job) -> None:
    """Raise OptctxError for a job whose target LLVM does not have."""
    if job.is_checked:
        with FreshProcess() as fresh:
            problem = target_problem(fresh.compile, job)
        if problem is not None:
            raise OptctxError(problem.error or "")


@dataclass(frozen=True)
class Asked:
    """One compilation. Without options it is the base of its job."""

    job: int
    options: Mapping[str, str]  # what it sets


class Experiment:
    """Compiles what a plan asks for in other processes, so a crash of LLVM does not end this one.

    A context manager, for one thread. Leaving it ends every process that compiles for it. Compilations have
    numbers of the caller's, from 0 on. `prepare` comes first: it makes the `pool` that compiles the `plan`.
    """

    pool: Pool
    plan: Plan
    _crowd: Crowd[Answer]

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._asked: dict[int, Asked] = {}  # unanswered
        self._taken: dict[int, list[Answer]] = {}  # of those that are compiled several times
        self._bases: dict[int, float] = {}  # seconds, by job

    def __enter__(self) -> Self:
        _attached.running()  # its server starts while the caller makes the plan
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def prepare(self, plan: Plan) -> None:
        """Take the plan. Raises OptctxError for the first job that LLVM refuses under any options."""
        self.plan = plan
        llvm = plan.jobs[0].llvm
        if plan.arguments or llvm:
            self.pool = self._stack.enter_context(Pool(attach_under, plan.arguments, llvm))
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
            traits=self._settings,
            memory=plan.limits.memory,
        )
        self._crowd = self._stack.enter_context(crowd)
        for place in range(len(plan.jobs)):
            if error := self._error(place):
                named = f"{plan.jobs[place].passes}: " if len(plan.jobs) > 1 else ""
                raise OptctxError(f"{named}{error}")

    def recorded(self) -> Recorded:
        """What LLVM reads for the first job without options. Raises OptctxError if it takes too long."""
        done = self.pool.call(record_first, self.plan, gives=Recorded, limits=self._limits)
        return answered(done, "cannot record what LLVM reads", self.plan.limits.seconds())

    @property
    def _limits(self) -> ChildLimits:
        """Of one compilation by itself, before the bases are known."""
        seconds, memory = self.plan.limits.seconds(), self.plan.limits.memory
        return ChildLimits(seconds, None if memory is None else memory + PER_THREAD)

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

    def all(self, more: More, window: int) -> Iterator[Answer]:
        """Have all compiled, at most `window` of them under way; yield each answer as it comes."""
        under_way = 0
        while True:
            asked = more(window - under_way)
            self.ask(asked)
            under_way += len(asked)
            if not under_way:
                return
            for answer in self.answers():
                under_way -= 1
                yield answer

    def trials(
        self, more: More, made: Callable[[Answer], Trial], verify: OptionContext | None = None
    ) -> Generator[Trial, None, None]:
        """Have all compiled. Yield the trial that is made of each answer.

        `verify`: the options of the base. A fresh process compiles each once more then, on top of these, in
        batches: so the trials' times are not disturbed.
        """
        limits = self.plan.limits
        if verify is None:
            yield from map(made, self.all(more, _BATCH * limits.at_once))
            return
        with (
            ThreadPoolExecutor(limits.at_once) as threads,
            # It ends first, so the threads do not wait for jobs that still run.
            FreshProcess(timeout=limits.seconds(), memory=limits.memory, directory=self.plan.folder) as fresh,
        ):
            yield from self._verified(more, made, verify, partial(threads.map, partial(_judged, fresh)))

    def _verified(
        self,
        more: More,
        made: Callable[[Answer], Trial],
        verify: OptionContext,
        judged: Callable[[Iterable[Trial], Iterable[Job]], Iterator[Trial]],
    ) -> Iterator[Trial]:
        size = _BATCH * self.plan.limits.at_once
        while batch := dict(more(size)):
            ended = [made(each) for each in self.all(partial(_taken, iter(batch.items())), size)]
            references = [self._reference(batch[trial.number], verify) for trial in ended]
            yield from judged(ended, references)

    def _reference(self, asked: Asked, base: OptionContext) -> Job:
        """What a fresh process compiles to compare."""
        job = self.plan.jobs[asked.job]
        context = OptionContext(asked.options, base=base, image=job.image)
        return replace(job, options=all_arguments(context, job.image))

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

    def _settings(self, number: int) -> list[tuple[int, str, str]]:
        asked = self._asked[number]
        return [(asked.job, name, value) for name, value in asked.options.items()]

    def _limit(self, number: int) -> float:
        """Seconds that what was asked may take."""
        return self.plan.limits.seconds(self._bases.get(self._asked[number].job))

    def _answer(self, number: int, done: Done[Answer]) -> Answer:
        lines = done.printed.splitlines()[-_LINES:]
        printed = tuple(line[:_LINE] for line in lines if line.strip())
        if done.death is not None:
            late = done.death.end == "timed out"
            error = f"took longer than {self._limit(number):g} s" if late else str(done.death)
            return Answer(done.death.end, number, error=error)
        if done.value is None:
            return Answer("failed", number, error=done.error, printed=printed)
        return replace(done.value, number=number, printed=printed)

    def _error(self, place: int) -> str:
        """The error that a job has under any options; "" for none."""
        done = self.pool.call(check, self.plan, place, gives=str, limits=self._limits)
        if done.death is not None:  # if the pipeline killed LLVM, the rows will say so
            done = self.pool.call(check_module, self.plan, place, gives=str, limits=self._limits)
        if self.pool.end is not None:
            raise EndedEarlyError(f"{self.pool.end}; run it again")
        if done.death is None:
            return done.error or done.value or ""
        if refused := refused_reading(done.death.printed):
            return refused
        late = done.death.end == "timed out"
        cause = f"it took longer than {self.plan.limits.seconds():g} s" if late else str(done.death)
        return f"cannot read the module: the process that read it ended ({cause})"


def _taken(waiting: Iterator[tuple[int, Asked]], count: int) -> list[tuple[int, Asked]]:
    return list(islice(waiting, count))


def _judged(fresh: FreshProcess, trial: Trial, job: Job) -> Trial:
    return trial if trial.state == "timed out" else verified(trial, fresh.compile(job))


# What the other processes do: their server attaches, its children compile


def attach_once() -> None:
    """Prepare the server of experiments whose base is LLVM's."""
    attach_under((), "")


def attach_under(arguments: tuple[str, ...], llvm: str) -> None:
    """Prepare a server under the options of the calling process, which come before attaching."""
    load_llvm()
    set_process_options(arguments, image_of(llvm))
    _attach(image_of(llvm), "ignore")


# Of all experiments whose base is LLVM's: the next one begins at once.
_attached = SharedPool(attach_once)


def begin(_: None, plan: Plan) -> Plan:
    """In a child: go where the plan compiles, and attach with the settings of the calling process."""
    move_to(plan.directory)
    _attach(plan.jobs[0].image, *plan.attributes)  # type: ignore[arg-type]
    return plan


def _attach(image: Image | None, attributes: Attributes, *trust: str) -> None:
    """Attach with the settings of the calling process, which has issued the warnings already."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        attach(image, attributes=attributes, trust=[each for each in trust if each] if trust else None)


def check(_: None, plan: Plan, place: int) -> str:
    """The error that a job has under any options, of its module, its pipeline or its target; "" for none."""
    return check_module(_, plan, place) or pipeline_error(plan.jobs[place])


def check_module(_: None, plan: Plan, place: int) -> str:
    """The error that a job's module has under any options; "" for none."""
    begin(_, plan)
    return compile_unchecked(replace(plan.jobs[place], passes="verify", emit="none")).error or ""


def record_first(_: None, plan: Plan) -> Recorded:
    """What LLVM reads for the first job. Raises OptctxError if LLVM refuses it."""
    begin(_, plan)
    return recorded(_, plan.jobs[0])


def compile_one(plan: Plan, asked: Asked) -> Answer:
    """Compile one combination, on a thread of several or in a process of its own."""
    job = plan.jobs[asked.job]
    try:
        with OptionContext(asked.options, image=job.image):
            result, read = _recorded(job, plan.noted) if plan.noted else (compile_unchecked(job), None)
    except OptctxError as error:
        return Answer("failed", error=str(error))
    if result.error is not None:
        return Answer("failed", error=result.error)
    return Answer(
        "ok",
        instructions=result.instructions,
        object_size=len(result.code),
        seconds=result.seconds,
        digest=hashlib.sha256(result.code).hexdigest(),
        code=result.code if plan.output else b"",
        read=read,
    )


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


class ByReads(Generic[Known]):
    """Results under their source and those of the options that the step read.

    A step is a function of its source and of the options that it reads, one after the other. With the same
    source and the same values of those, it would read the same ones and do the same.
    """

    def __init__(self, targets: Mapping[str, str]) -> None:
        """Take each option's own name, by the name that is used for it."""
        self._targets = targets
        self._read: dict[Hashable, list[frozenset[str]]] = {}  # by source, each once
        self._results: dict[Hashable, Known] = {}

    def add(self, source: Hashable, options: Mapping[str, str], read: frozenset[str], result: Known) -> None:
        """Enter a result, if none is known. `read`: the names of those that were read, without aliases."""
        self._results.setdefault((source, read, self._values(options, read)), result)
        sets = self._read.setdefault(source, [])
        if read not in sets:
            sets.append(read)

    def find(self, source: Hashable, options: Mapping[str, str]) -> Known | None:
        """The result; None if it is not known."""
        keys = ((source, read, self._values(options, read)) for read in self._read.get(source, ()))
        return next((self._results[key] for key in keys if key in self._results), None)

    def _values(self, options: Mapping[str, str], read: frozenset[str]) -> tuple[tuple[str, str], ...]:
        """What the options that were read have, without aliases."""
        targets = ((self._targets[name], text) for name, text in options.items())
        return tuple(sorted(each for each in targets if each[0] in read))
