"""`tune`: search a space of options for the best compilation of a module."""

from __future__ import annotations

import hashlib
import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, ClassVar

from optctx import registry
from optctx.compiling import Job
from optctx.compiling.facts import build_id
from optctx.compiling.job import TARGET
from optctx.errors import EndedEarlyError, Interrupted, OptctxError
from optctx.lab.experiment import ByReads, Experiment, Plan, make_plan
from optctx.lab.outcome import Answer, Limits, trial_of
from optctx.lab.reduce import reduce_options
from optctx.lab.settings import checked, positive, setting
from optctx.lab.settings import seconds as read_seconds
from optctx.lab.space import Space, overrides_of
from optctx.lab.timing.bench import is_gain, processor_model
from optctx.lab.trial import Goal, Trial, goal_named
from optctx.lab.tuning.objectives import Measured, RunTime, interval_of
from optctx.lab.tuning.studies import Study, need_optuna
from optctx.wording import counted

if TYPE_CHECKING:
    import optuna
    from optuna.samplers import BaseSampler

_TRIALS = 100  # where no limit is given
_LARGEST_GRID = 1_000_000  # points, which are held in memory
_WINDOW = 8  # trials under way at once, of which a sampler knows no figures yet
_REPEATS = 3  # compilations whose time counts
_CONFIRMED = 3  # trials that are checked again, until one is a gain
_SAME = 0.99  # the ratio, and the end of its interval, of what is as fast
_SURELY = 0.97


@dataclass(frozen=True)
class Search:
    """How a space is searched. The first limit that is reached ends it; a trial that runs then is finished.
    No compilation takes longer than `seconds`.

    `sampler`: one of Optuna's; None is a grid if `trials` are enough for every point, and otherwise TPE. That
    chooses the same points each time that one process searches from the beginning, on any number of threads.
    `trials` are those of the whole study, earlier runs among them; 100, if no other limit is given. `seconds`
    are of this run.

    Raises OptctxError for a value that cannot be used.
    """

    title: ClassVar[str] = "search"
    sampler: BaseSampler | None = None
    trials: int | None = setting(
        None,
        f"trials of the whole study ({_TRIALS}, without another limit)",
        metavar="N",
        read=positive,
    )
    seconds: float | None = setting(
        None,
        "time for this run; no compilation takes longer, the base's neither",
        metavar="S",
        read=read_seconds,
    )

    def __post_init__(self) -> None:
        checked(self)

    @property
    def most(self) -> int | None:
        """Trials of the whole study; None if time alone ends it."""
        return self.trials if self.trials is not None or self.seconds is not None else _TRIALS

    def is_grid(self, space: Space) -> bool:
        """Whether every point is tried: the trials are enough for that."""
        return self.sampler is None and space.count <= min(self.most or 0, _LARGEST_GRID)

    def make_sampler(self, space: Space, begun: int) -> BaseSampler:
        """Make Optuna's sampler for a study in which `begun` trials run or have ended."""
        from optuna import samplers

        if self.sampler is not None:
            return self.sampler
        if not self.is_grid(space):
            return samplers.TPESampler(seed=begun)  # with that of the beginning, its points would come again

        class Grid(samplers.GridSampler):
            def after_trial(self, *given: Any) -> None:
                """Stop nothing: only `Study.optimize` can be stopped."""

        return Grid({each.name: list(each.values.each) for each in space.dimensions}, seed=0)


@dataclass(frozen=True)
class Tuned:
    """A search and its trials, of every process that works on its study, by number.

    `base`: the compilation with no option of the space set. `ended`: why the search came to its end, in
    words; "" after Ctrl-C or an error, and every result is one so far. `total`: how many trials the whole
    search has, where its limit or its space tells. `compiled`: how many compilations it took in this run.
    `study`: Optuna's own, for `optuna.visualization` and `optuna.importance`.
    """

    goal: Goal
    base: Trial
    trials: tuple[Trial, ...] = field(repr=False)
    ended: str = ""
    total: int | None = None
    compiled: int = 0
    confirmation: Mapping[str, Any] | None = None  # of a gain in run time: the second check
    minimised: Mapping[str, str] | None = None  # the options that the best trial needs
    study: optuna.Study | None = field(default=None, repr=False)

    @property
    def finished(self) -> bool:
        """Whether the search came to its own end."""
        return bool(self.ended)

    @property
    def best_so_far(self) -> Trial | None:
        """As `best`; without one, the trial with the best figure, which no second check has confirmed."""
        return self.best or self.goal.best_of(self.trials, self.base)

    @property
    def best(self) -> Trial | None:
        """The best trial, if it is better than the base; otherwise None.

        Of run times, the one that a second check has confirmed (`confirmation`).
        """
        if not self.goal.confirmed:
            return self.goal.best_of(self.trials, self.base)
        number = self.confirmation["trial"] if self.confirmation and self.confirmation["gain"] else None
        return next((trial for trial in self.trials if trial.number == number), None)

    @property
    def ranked(self) -> list[Trial]:
        """The trials with figures, the best first."""
        done = [trial for trial in self.trials if trial.figure is not None]
        return sorted(done, key=lambda each: (self.goal.sign * (each.figure or 0), each.number))

    def as_data(self) -> dict[str, Any]:
        """One object for JSON: the fields but `study`; `best`, or None; `best_so_far`, the number of a trial;
        and `finished`. Numbers are in the unit of `goal`.
        """
        found = asdict(replace(self, study=None))
        so_far = self.best_so_far and self.best_so_far.number
        more = {"best": self.best and asdict(self.best), "best_so_far": so_far, "finished": self.finished}
        return {**found, **more}


def tune(
    job: Job,
    space: Space,
    by: str | Measured = "size",
    search: Search = Search(),
    *,
    storage: str | None = None,
    study: str = "optctx",
    limits: Limits = Limits(),  # noqa: B008  frozen
    on_trial: Callable[[Trial, int | None], None] = lambda trial, total: None,
) -> Tuned:
    """Search a space of option values for the best compilation of a module.

    Each trial is compiled inside an OptionContext of its own, on a thread of a helper process: nothing that
    LLVM does there reaches this process, and a crash or a hang is the state of its trial. Options that the
    space does not name have the values that the calling thread sees now.

    Args:
        job: What to compile. Its `options` and `emit` are ignored.
        space: The options to vary, and their values.
        by: What to search by: "size" (bytes of the object), "instructions" (of IR after the passes) or
            "compile-time" (seconds of parsing, passes and emission: the least of three, one compilation at a
            time), with ":max" if larger is better; or a `RunTime` or `Command`, which runs the code.
        search: How, and until when.
        storage: Where Optuna keeps the study: a file, for its journal, or the URL of a database. By default
            the memory of this process. A study that is there goes on; several processes can work on one.
        study: Its name there.
        limits: What compilations may take.
        on_trial: Called with each trial of this process as it ends, and with how many there will be.

    Raises:
        OptctxError: LLVM refuses the module, the pipeline or the target, or the base crashes; Optuna is not
            installed; the storage cannot be used; or the study is of something else. As OptionContext does
            for options and values.
        EndedEarlyError: The helper process was killed, or the storage fails. Its `partial` is the result so
            far.
        Interrupted: Ctrl-C once the base is compiled. Its `partial` is the result so far.
    """
    need_optuna()
    if not space.dimensions:
        raise OptctxError("there is nothing to search: give options with --try NAME=VALUES")
    measured, goal = (None, goal_named(by)) if isinstance(by, str) else (by, by.goal)
    timed = goal.name == "compile-time"
    options = registry(job.image)
    targets = {name: options[name].alias_of or name for name in space.names}
    limits = replace(limits, jobs=1 if timed else limits.jobs, most=search.seconds)
    plan = replace(
        make_plan(job, limits),
        output=measured is not None,
        noted=tuple(targets.values()),
        repeats=_REPEATS if timed else 1,
    )
    opened = Study(storage, study, goal, _about(plan, space, goal, measured))
    with _Run(plan, space, search, goal, measured, opened, on_trial, ByReads(targets)) as run:
        return run.run()


def _about(plan: Plan, space: Space, goal: Goal, measured: Measured | None) -> Mapping[str, Any]:
    """What a study is one of: it goes on only with the same."""
    how, more = "", {}
    if isinstance(measured, RunTime):
        # Multiples of the base's time on one processor say nothing of another one.
        how, more = f", {measured.kernel.identity}", {"processor": processor_model()}
    elif measured is not None:
        how = f", {measured.command}"
    ir = plan.job.ir if isinstance(plan.job.ir, bytes) else plan.job.ir.encode(errors="surrogatepass")
    return {
        "input": hashlib.sha256(ir).hexdigest(),
        "passes": plan.job.passes,
        "target": [getattr(plan.job, each) for each in TARGET],
        "base": [list(plan.arguments), list(plan.attributes)],
        "versions": {
            "optctx": version("optctx"),
            "llvmlite": version("llvmlite"),
            "LLVM": build_id(plan.job.image),
        },
        "space": space.texts(),
        "goal": f"{goal.name}: {goal.direction}{how}",
        **more,
    }


@dataclass
class _Asked:
    """A trial that was asked for, and what it compiled to."""

    trial: optuna.Trial
    options: dict[str, str]
    answer: Answer | None = None


class _Run(Experiment):
    """Compiles what a study asks for on threads of a helper process, as a sweep does, and measures here.

    A context manager. `known`: what equal compilations have given. Equal objects are measured once.
    """

    def __init__(
        self,
        plan: Plan,
        space: Space,
        search: Search,
        goal: Goal,
        measured: Measured | None,
        study: Study,
        on_trial: Callable[[Trial, int | None], None],
        known: ByReads,
    ) -> None:
        super().__init__(plan)
        self.space, self.search, self.goal, self.measured = space, search, goal, measured
        self.study, self.on_trial, self.known = study, on_trial, known
        self.total = space.count if search.is_grid(space) else search.most
        self.confirmation: dict[str, Any] | None = None
        self.minimised: dict[str, str] | None = None
        self._started = time.monotonic()
        self._waiting: deque[_Asked] = deque()  # asked for and not told, in order
        self._trials = study.ended()  # that have ended, as far as this process knows
        self._begun = study.begun()  # trials of the study, as far as this process knows
        self._compiled = 0
        self._base_code = b""
        # By digest. Objects of an earlier run are not run again.
        self._measured = {trial.digest: trial for trial in self._trials.values() if trial.digest}
        study.own.sampler = search.make_sampler(space, self._begun)

    def run(self) -> Tuned:
        """Search. Raises as `tune` does."""
        answer = self.compile_base()
        self._base_code = answer.code
        (base,) = self._assessed([({}, answer)])
        if base.state != "ok":
            raise OptctxError(f"cannot tune: the module without any option {base.state}: {base.error}")
        self.known.add({}, answer)
        try:
            ended = self._search()
            self._find_winner(base)
            return self._result(base, ended)
        except KeyboardInterrupt:
            raise Interrupted(self._result(base, "")) from None
        except OptctxError as error:
            early = error if isinstance(error, EndedEarlyError) else EndedEarlyError(str(error))
            early.partial = self._result(base, "")
            raise early from error.__cause__

    def _result(self, base: Trial, ended: str) -> Tuned:
        return Tuned(
            goal=self.goal,
            base=base,
            trials=tuple(self._trials[number] for number in sorted(self._trials)),
            ended=ended,
            total=self.total,
            compiled=self._compiled,
            confirmation=self.confirmation,
            minimised=self.minimised,
            study=self.study.own,
        )

    def _search(self) -> str:
        """Ask, compile and tell, until a limit is reached. Returns which one.

        A trial is asked for when those before it are told, but for the ones of a window, and in order: so
        equal seeds give equal trials, however fast answers come. What is measured waits for a whole window,
        so that nothing is compiled beside it.
        """
        ended = ""
        while True:
            while not ended and len(self._waiting) < _WINDOW:
                ended = self._reached()
                if not ended:
                    self._ask()
            if not self._waiting:
                self._trials = self.study.ended()
                return ended
            due = list(self._waiting) if self.measured is not None else [self._waiting[0]]
            while any(each.answer is None for each in due):
                self._collect()
            compiled = [(each.options, each.answer) for each in due if each.answer is not None]
            for each, trial in zip(due, self._assessed(compiled), strict=True):
                self._tell(each, trial)

    def _reached(self) -> str:
        """Which limit is reached, in words; "" for none. It counts the trials of every process that have
        ended, and those of this one that run.
        """
        most, seconds = self.search.most, self.search.seconds
        if seconds is not None and time.monotonic() - self._started >= seconds:
            return f"{seconds:g} seconds"
        if self._begun >= min(most or math.inf, self.space.count):
            points = [trial.options for trial in self.study.ended().values()]
            points += [each.options for each in self._waiting]
            if len({tuple(sorted(point.items())) for point in points}) >= self.space.count:
                return "every point of the space was tried"
            # A grid asks again for points of a process that has ended, and of one that still runs.
            if most is not None and len(points) >= most and not self.search.is_grid(self.space):
                return counted(most, "trial")
        return ""

    def _ask(self) -> None:
        trial = self.study.ask(self.space)
        self._begun = trial.number + 1
        asked = _Asked(trial, {name: str(trial.params[name]) for name in self.space.names})
        self._waiting.append(asked)
        known = self.known.find(overrides_of(asked.options))
        if known is None:
            self.ask([(trial.number, overrides_of(asked.options))])
        else:
            asked.answer = replace(known, number=trial.number)

    def _collect(self) -> None:
        for answer in self.answers():
            self._compiled += self.plan.repeats
            asked = next(each for each in self._waiting if each.trial.number == answer.number)
            asked.answer = answer
            self.known.add(overrides_of(asked.options), answer)

    def _tell(self, asked: _Asked, trial: Trial) -> None:
        self._trials[trial.number] = trial
        self.study.tell(asked.trial, trial)
        self._waiting.popleft()
        self.on_trial(trial, self.total)

    def _assessed(self, compiled: Sequence[tuple[Mapping[str, str], Answer]]) -> list[Trial]:
        """The trials of options and what they compiled to, in their order."""
        if self.measured is None:
            return [trial_of(answer, options, self.goal) for options, answer in compiled]
        new = {
            answer.digest: answer.code
            for _, answer in compiled
            if answer.state == "ok" and answer.digest not in self._measured
        }
        if new:
            self._measured |= self.measured.measure(self._base_code, new)
        return [self._measured_trial(options, answer) for options, answer in compiled]

    def _measured_trial(self, options: Mapping[str, str], answer: Answer) -> Trial:
        trial = trial_of(answer, options)
        if answer.state != "ok":
            return trial
        found = self._measured[answer.digest]
        attributes = {**found.attributes, **trial.attributes}
        return replace(
            trial, state=found.state, figure=found.figure, error=found.error, attributes=attributes
        )

    # The end of a search

    def _find_winner(self, base: Trial) -> None:
        """Check the best again, and take options out of it for as long as it stays as good."""
        if isinstance(self.measured, RunTime):
            for trial in _fastest(self._trials.values())[:_CONFIRMED]:
                self._confirm(trial, self.measured)
                if self.minimised is not None:
                    return
        elif (best := self.goal.best_of(list(self._trials.values()), base)) is not None:
            whole = self.compile(overrides_of(best.options))
            self.minimised = self._reduced(best, whole, partial(self._is_as_good, best))

    def _confirm(self, trial: Trial, objective: RunTime) -> None:
        """Check a run time once more, of the fewest options that are as fast."""
        whole = self.compile(overrides_of(trial.options))
        options = self._reduced(trial, whole, partial(_is_as_fast, objective, whole.code))
        found = objective.confirm(self._base_code, self.compile(options).code)
        second, gain = found.candidates["candidate"], bool(found.faster())
        if self.confirmation is None or gain:
            text = (
                f"{second.ratio} times as fast, confirmed"
                if gain
                else f"no gain: {second.ratio or second.error}"
            )
            own = {"trial": trial.number, "gain": gain, "text": text}
            self.confirmation = {**own, "second": asdict(second), "noise": asdict(found.noise)}
        if gain:
            self.minimised = options

    def _is_as_good(self, best: Trial, answer: Answer) -> bool:
        (trial,) = self._assessed([({}, answer)])
        return trial.figure is not None and not self.goal.better(best, trial)

    def _reduced(self, trial: Trial, whole: Answer, is_good: Callable[[Answer], bool]) -> dict[str, str]:
        """The fewest options that are as good as all of a trial.

        `whole`: what all of them compile to. `is_good`: whether an answer is as good; it is not asked about
        an equal object.
        """
        options = overrides_of(trial.options)

        def keeps(job: Job) -> bool:
            answer = self.compile(_as_options(job.options))
            return answer.state == "ok" and (answer.digest == whole.digest or is_good(answer))

        if whole.state != "ok" or not options:  # it may take too long this time
            return options
        given = tuple(f"-{name}={text}" for name, text in options.items())
        job = replace(self.plan.job, options=given)
        return _as_options(reduce_options(job, keeps, values=False, limits=Limits(jobs=1)).job.options)


def _fastest(trials: Iterable[Trial]) -> list[Trial]:
    """Trials whose ratios are above 1 and above the noise, the fastest first; of equal objects one."""
    found: dict[str, Trial] = {}
    for trial in trials:
        ratio, noise = (interval_of(trial, name) for name in ("ratio", "noise"))
        if trial.state == "ok" and ratio and noise and is_gain(ratio, noise):
            found.setdefault(trial.digest, trial)
    return sorted(found.values(), key=lambda each: each.figure or 0.0)


def _is_as_fast(objective: RunTime, best: bytes, answer: Answer) -> bool:
    """Whether it is no slower than the best one, measured beside that, but for what cannot be told."""
    (found,) = objective.measure(best, {answer.digest: answer.code}).values()
    ratio = interval_of(found, "ratio")
    return ratio is not None and ratio.middle >= _SAME and ratio.low >= _SURELY


def _as_options(arguments: Iterable[str]) -> dict[str, str]:
    """From "-name=value", as the reducer has them."""
    pairs = (each.removeprefix("-").partition("=") for each in arguments)
    return {name: value if equals else "true" for name, equals, value in pairs}
