"""`tune`: search a space of options for the best compilation of a module."""

from __future__ import annotations

import contextlib
import hashlib
import math
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, ClassVar

from optctx import registry
from optctx.compiling import Job
from optctx.compiling.facts import build_id
from optctx.compiling.job import TARGET
from optctx.errors import EndedEarlyError, Interrupted, OptctxError
from optctx.lab.experiment import ByReads, Plan, make_plan
from optctx.lab.outcome import Answer, Limits
from optctx.lab.settings import checked, positive, setting
from optctx.lab.settings import seconds as read_seconds
from optctx.lab.space import Space, overrides_of
from optctx.lab.timing.bench import processor_model
from optctx.lab.trial import Goal, Trial, goal_named
from optctx.lab.tuning.assess import Assessor
from optctx.lab.tuning.objectives import Measured, RunTime
from optctx.lab.tuning.studies import Study, named, need_optuna
from optctx.wording import counted

if TYPE_CHECKING:
    import optuna
    from optuna.samplers import BaseSampler

INTERRUPTED = "interrupted"  # `Tuned.ended` of a search that was
_TRIALS = 100  # where no limit is given
_LARGEST_GRID = 1_000_000  # points, which are held in memory
_WINDOW = 8  # trials under way at once, of which a sampler knows no figures yet
_REPEATS = 3  # compilations whose time counts
_FORMAT = 6  # of what a study keeps

_ENDS = {"failed": "does not compile", "crashed": "crashes LLVM", "timed out": "takes too long"}


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

        return Grid({each.name: list(each.values.each()) for each in space.dimensions}, seed=0)


@dataclass(frozen=True)
class Tuned:
    """A search and its trials, of every process that works on its study, by number.

    `study`: Optuna's own, for `optuna.visualization` and `optuna.importance`. `base`: the compilation with no
    option of the space set. `about`: what the study is one of, such as its `space` and its `versions`.
    `ended`: why the search came to its end, in words; "interrupted" after Ctrl-C; "" after an error. `total`:
    how many trials the whole search has, where its limit or its space tells. `compiled`: how many
    compilations it took in this run.
    """

    goal: Goal
    base: Trial
    trials: tuple[Trial, ...]
    about: Mapping[str, Any]
    compiled: int = 0
    ended: str = ""
    total: int | None = None
    storage: str = ""  # where it is kept, without a password
    confirmation: Mapping[str, Any] | None = None  # of a gain in run time: the second check
    minimised: Mapping[str, str] | None = None  # the options that the best trial needs
    study: optuna.Study | None = None

    def __repr__(self) -> str:
        """Short: there are thousands of trials."""
        best = "" if self.best_so_far is None else f", best: trial {self.best_so_far.number}"
        return f"<Tuned by {self.goal.name}: {self.progress}{best}>"

    @property
    def finished(self) -> bool:
        """Whether the search came to its own end. Otherwise every result is one so far."""
        return self.ended not in ("", INTERRUPTED)

    @property
    def progress(self) -> str:
        """How far it came: "interrupted after 8 of 12 trials"."""
        if self.finished:
            return counted(len(self.trials), "trial")
        how = f"{INTERRUPTED} after" if self.ended else "not finished:"
        count = len(self.trials)
        of = counted(count, "trial") if self.total is None else f"{count} of {counted(self.total, 'trial')}"
        return f"{how} {of}"

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
    def fewest(self) -> Mapping[str, str] | None:
        """The options that the best trial needs; None without one."""
        best = self.best
        return None if best is None else best.options if self.minimised is None else self.minimised

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
    about = _about(plan, space, goal, measured)
    opened = Study(storage, study, goal, about)
    with Assessor(plan, goal, measured) as assessor:
        return _Run(space, search, about, opened, assessor, on_trial, ByReads(targets)).run()


def _about(plan: Plan, space: Space, goal: Goal, measured: Measured | None) -> Mapping[str, Any]:
    """What a study is one of: it goes on only with the same."""
    # Multiples of the base's time on one processor say nothing of another one.
    more = {"processor": processor_model()} if isinstance(measured, RunTime) else {}
    how = "" if measured is None else f", {measured.identity}"
    ir = plan.job.ir if isinstance(plan.job.ir, bytes) else plan.job.ir.encode(errors="surrogatepass")
    return {
        "format": _FORMAT,
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


@dataclass
class _Run:
    space: Space
    search: Search
    about: Mapping[str, Any]
    study: Study
    assessor: Assessor
    on_trial: Callable[[Trial, int | None], None]
    known: ByReads  # what equal compilations have given
    started: float = field(default_factory=time.monotonic)
    asked: deque[_Asked] = field(default_factory=deque)  # and not told, in order
    trials: dict[int, Trial] = field(default_factory=dict)  # that have ended, as far as this process knows
    begun: int = 0  # trials of the study, as far as this process knows
    compiled: int = 0

    def run(self) -> Tuned:
        base = self._begin()
        try:
            ended = self._searched()
            self._find_winner(base)
            return self._result(base, ended)
        except KeyboardInterrupt:
            raise Interrupted(self._result(base, INTERRUPTED)) from None
        except OptctxError as error:
            early = error if isinstance(error, EndedEarlyError) else EndedEarlyError(str(error))
            early.partial = self._result(base, "")
            raise early from error.__cause__

    def _begin(self) -> Trial:
        """Compile and measure the base, and take what is in the study."""
        answer, base = self.assessor.begin()
        if base.state != "ok":
            how = _ENDS.get(answer.state, f"is {answer.state}") if answer.state != "ok" else "has no figure"
            raise OptctxError(f"cannot tune: without any option the module {how} ({base.error})")
        self.known.add({}, answer)
        self.trials, self.begun = self.study.ended(), self.study.begun()
        self.study.own.sampler = self.search.make_sampler(self.space, self.begun)
        self.assessor.know(self.trials.values())
        return base

    def _result(self, base: Trial, ended: str) -> Tuned:
        return Tuned(
            goal=self.assessor.goal,
            base=base,
            trials=tuple(self.trials[number] for number in sorted(self.trials)),
            about=self.about,
            compiled=self.compiled,
            ended=ended,
            total=self._total,
            storage="" if self.study.place is None else named(self.study.place),
            confirmation=self.assessor.confirmation,
            minimised=self.assessor.fewest,
            study=self.study.own,
        )

    @property
    def _total(self) -> int | None:
        """How many trials the whole search has, where its limit or its space tells."""
        points = self.space.count if self.search.is_grid(self.space) else math.inf
        most = min(points, math.inf if self.search.most is None else self.search.most)
        return None if most == math.inf else max(int(most), len(self.trials))

    def _searched(self) -> str:
        """Search. Returns which limit was reached. What is asked for and not told is left to the next run."""
        try:
            return self._search()
        finally:
            with contextlib.suppress(OptctxError):  # of a storage that fails
                self.study.give_back(each.trial for each in self.asked)
                self.trials = self.study.ended()

    def _search(self) -> str:
        """Ask, compile and tell, until a limit is reached. Returns which one.

        A trial is asked for when those before it are told, but for the ones of a window, and in order: so
        equal seeds give equal trials, however fast answers come. What is measured waits for a whole window,
        so that nothing is compiled beside it.
        """
        ended = ""
        while True:
            while not ended and len(self.asked) < _WINDOW:
                ended = self._reached()
                if not ended:
                    self._ask()
            if not self.asked:
                return ended
            due = list(self.asked) if self.assessor.measured is not None else [self.asked[0]]
            while any(each.answer is None for each in due):
                self._collect()
            compiled = [(each.options, each.answer) for each in due if each.answer is not None]
            for each, trial in zip(due, self.assessor.assessed(compiled), strict=True):
                self._tell(each, trial)

    def _reached(self) -> str:
        """Which limit is reached, in words; "" for none. It counts the trials of every process that have
        ended, and those of this one that run.
        """
        most, seconds = self.search.most, self.search.seconds
        if seconds is not None and time.monotonic() - self.started >= seconds:
            return f"{seconds:g} seconds"
        if self.begun >= min(most or math.inf, self.space.count):
            points = [trial.options for trial in self.study.ended().values()]
            points += [each.options for each in self.asked]
            if len({tuple(sorted(point.items())) for point in points}) >= self.space.count:
                return "every point of the space was tried"
            # A grid asks again for points of a process that was killed, and of one that still runs.
            if most is not None and len(points) >= most and not self.search.is_grid(self.space):
                return counted(most, "trial")
        return ""

    def _ask(self) -> None:
        trial = self.study.ask(self.space)
        self.begun = trial.number + 1
        asked = _Asked(trial, {name: str(trial.params[name]) for name in self.space.names})
        self.asked.append(asked)
        known = self.known.find(overrides_of(asked.options))
        if known is None:
            self.assessor.ask([(trial.number, overrides_of(asked.options))])
        else:
            asked.answer = replace(known, number=trial.number)

    def _collect(self) -> None:
        for answer in self.assessor.answers():
            self.compiled += self.assessor.plan.repeats
            asked = next(each for each in self.asked if each.trial.number == answer.number)
            asked.answer = answer
            self.known.add(overrides_of(asked.options), answer)

    def _tell(self, asked: _Asked, trial: Trial) -> None:
        self.study.tell(asked.trial, trial)
        self.asked.popleft()
        self.trials[trial.number] = trial
        self.on_trial(trial, self._total)

    def _find_winner(self, base: Trial) -> None:
        measured, trials = self.assessor.measured, self.trials.values()
        if isinstance(measured, RunTime):
            self.assessor.confirm(trials, measured)
        elif (best := self.assessor.goal.best_of(list(trials), base)) is not None:
            self.assessor.reduce(best)
