"""`tune`: search a space of options for the best compilation of a module."""

from __future__ import annotations

import contextlib
import importlib.metadata
import math
import platform
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from optctx import registry
from optctx.compiling import Job
from optctx.errors import EndedEarlyError, Interrupted, OptctxError
from optctx.lab.experiment import ByReads, Plan
from optctx.lab.outcome import Answer, Limits
from optctx.lab.space import PASSES, Space
from optctx.lab.timing.bench import processor_model
from optctx.lab.trial import Goal, Trial, identity_of, versions
from optctx.lab.tuning.assess import Assessor
from optctx.lab.tuning.evaluate import BASE, Candidate, Evaluator, search_plan
from optctx.lab.tuning.objectives import CompilationTime, Objective, RunTime, Size, emit_for
from optctx.lab.tuning.results import INTERRUPTED, Tuned
from optctx.lab.tuning.search import Search
from optctx.lab.tuning.studies import Storage, Study, need_optuna
from optctx.lab.tuning.winner import Winner
from optctx.wording import counted

if TYPE_CHECKING:
    import optuna

_WINDOW = 8  # trials under way at once, of which a sampler knows no figures yet
_REPEATS = 3  # compilations whose time counts

_ENDS = {"failed": "does not compile", "crashed": "crashes LLVM", "timed out": "takes too long"}


def tune(
    job: Job,
    space: Space,
    objectives: Sequence[Objective] = (Size(),),
    search: Search = Search(),  # noqa: B008  frozen
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
        objectives: What to search by. Several give a Pareto front (`Tuned.front`).
        search: How, and until when.
        storage: Where Optuna keeps the study: a file, for its journal, or the URL of a database. By default
            the memory of this process. A study that is there goes on; several processes can work on one.
        study: Its name there.
        limits: What compilations may take. For `CompilationTime` there is one at a time.
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
    objectives = _distinct(objectives)
    if not space.dimensions:
        raise OptctxError("there is nothing to search: give options with --try NAME=VALUES")
    timed = any(isinstance(each, CompilationTime) for each in objectives)
    limits = limits.within(search.seconds)
    options = registry(job.image)
    targets = {name: options[name].alias_of or name for name in space.names if name != PASSES}
    plan = search_plan(
        job,
        space,
        replace(limits, jobs=1) if timed else limits,
        emit=emit_for(objectives),
        noted=targets.values(),
        repeats=_REPEATS if timed else 1,
    )
    opened = Storage(storage)
    goals = [each.goal for each in objectives]
    with ExitStack() as stack:
        stack.callback(opened.close)
        found = opened.study(study, goals, _identity(job, plan, space, objectives))
        evaluator = stack.enter_context(Evaluator())
        assessor = Assessor(plan, objectives)
        run = _Run(plan, space, objectives, search, found, evaluator, assessor, on_trial, ByReads(targets))
        return run.run()


def _distinct(objectives: Sequence[Objective]) -> tuple[Objective, ...]:
    names = [each.goal.name for each in objectives]
    if not names:
        raise OptctxError("there is nothing to search by: give an objective, such as size")
    for name in names:
        if names.count(name) > 1:
            raise OptctxError(f"the objective {name!r} is given twice; give it once")
    return tuple(objectives)


def _identity(job: Job, plan: Plan, space: Space, objectives: Sequence[Objective]) -> Mapping[str, Any]:
    """What a study is one of: it goes on only with the same."""
    jobs = {str(place): replace(job, passes=each) for place, each in enumerate(plan.pipelines)}
    more: dict[str, Any] = {}
    # Multiples of the base's time on one processor say nothing of another one.
    if any(isinstance(each, RunTime) for each in objectives):
        more["processor"] = processor_model()
    return identity_of(
        "tune",
        jobs,
        (plan.arguments, plan.attributes),
        space=space.texts(),
        objectives=[each.identity for each in objectives],
        **more,
    )


@dataclass
class _Asked:
    """A trial that was asked for, and what it compiled to."""

    trial: optuna.Trial
    candidate: Candidate
    answer: Answer | None = None


@dataclass
class _Run:
    plan: Plan
    space: Space
    objectives: Sequence[Objective]
    search: Search
    study: Study
    evaluator: Evaluator
    assessor: Assessor
    on_trial: Callable[[Trial, int | None], None]
    known: ByReads[Answer]  # what equal compilations have given
    started: float = field(default_factory=time.monotonic)
    asked: deque[_Asked] = field(default_factory=deque)  # and not told, in order
    trials: dict[int, Trial] = field(default_factory=dict)  # that have ended, as far as this process knows
    numbers: int = 0  # of the study, as far as this process knows
    base: Trial | None = None
    compiled: int = 0
    ended: str = ""
    winner: Winner | None = None

    @property
    def goals(self) -> tuple[Goal, ...]:
        return tuple(each.goal for each in self.objectives)

    @property
    def total(self) -> int | None:
        """How many trials the whole search has, where its limit or its space tells."""
        points = self.space.count if self.search.is_grid(self.space) else math.inf
        most = min(points, math.inf if self.search.most is None else self.search.most)
        return None if most == math.inf else max(int(most), len(self.trials))

    def run(self) -> Tuned:
        try:
            try:
                self._begin()
                ended = self._search()
            except BaseException:
                with contextlib.suppress(OptctxError):  # of a storage that fails
                    self._leave()
                raise
            if len(self.objectives) == 1:
                self._find_winner(*self.objectives)
            self.ended = ended
        except KeyboardInterrupt:
            self.ended = INTERRUPTED
            if self.base is None:
                raise
            raise Interrupted(self._result()) from None
        except OptctxError as error:
            if self.base is None:
                raise
            early = error if isinstance(error, EndedEarlyError) else EndedEarlyError(str(error))
            early.partial = self._result()
            raise early from error.__cause__
        return self._result()

    def _result(self) -> Tuned:
        assert self.base is not None
        return Tuned(
            goals=self.goals,
            base=self.base,
            trials=tuple(self.trials[number] for number in sorted(self.trials)),
            space=tuple(self.space.texts()),
            pipelines=self.plan.pipelines,
            versions={
                **versions(self.plan.jobs[0].image),
                "python": platform.python_version(),
                "optuna": importlib.metadata.version("optuna"),
            },
            seconds=time.monotonic() - self.started,
            compiled=self.compiled,
            ended=self.ended,
            total=self.total,
            storage="" if self.study.storage.place is None else self.study.storage.named,
            confirmation=self.winner.confirmation if self.winner else None,
            minimised=self.winner.options if self.winner else None,
            study=self.study.study,
        )

    def _begin(self) -> None:
        """Compile and measure the base, and take what is in the study."""
        answer = self.evaluator.base(self.plan)
        if answer.state == "ok":
            self.assessor.measure_against(answer)
        (base,) = self.assessor.trials([(BASE, answer)])
        if base.state != "ok":
            how = _ENDS.get(answer.state, f"is {answer.state}") if answer.state != "ok" else "has no figure"
            raise OptctxError(f"cannot tune: without any option the module {how} ({base.error})")
        self._know(BASE, answer)
        self.study.take_over()
        self.trials = self.study.trials()
        self.numbers = len(self.trials)
        begun, _ = self.study.counts()
        self.study.study.sampler = self.search.make_sampler(self.space, begun)
        self.assessor.know(self.trials.values())
        self.base = base

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
                self.trials = self.study.trials()
                return ended
            due = list(self.asked) if self.assessor.measures else [self.asked[0]]
            while any(each.answer is None for each in due):
                self._collect()
            compiled = [(each.candidate, each.answer) for each in due if each.answer is not None]
            for each, trial in zip(due, self.assessor.trials(compiled), strict=True):
                self._tell(each, trial)

    def _reached(self) -> str:
        """Which limit is reached, in words; "" for none. It counts the trials of every process."""
        most, seconds = self.search.most, self.search.seconds
        if seconds is not None and time.monotonic() - self.started >= seconds:
            return f"{seconds:g} seconds"
        if self.numbers >= min(most or math.inf, self.space.count):
            trials, points = self.study.counts()
            if most is not None and trials >= most:
                return counted(most, "trial")
            if points >= self.space.count:
                return "every point of the space was tried"
        return ""

    def _ask(self) -> None:
        trial = self.study.ask(self.space)
        self.numbers = trial.number + 1
        values = {each.name: trial.params[each.name] for each in self.space.dimensions}
        point = tuple((name, str(value)) for name, value in values.items())
        asked = _Asked(trial, Candidate(trial.number, point))
        self.asked.append(asked)
        known = self.known.find(asked.candidate.pipeline(self.plan), asked.candidate.options)
        if known is None:
            self.evaluator.submit(asked.candidate)
        else:
            asked.answer = replace(known, number=trial.number)

    def _collect(self) -> None:
        for answer in self.evaluator.answers():
            times = self.plan.repeats if answer.state == "ok" else 1  # the first without output ends them
            self.compiled += times
            asked = next(each for each in self.asked if each.candidate.number == answer.number)
            asked.answer = answer
            self._know(asked.candidate, answer)

    def _know(self, candidate: Candidate, answer: Answer) -> None:
        """Enter what came out, if it is known what was read."""
        if answer.state == "ok" and answer.read is not None:
            self.known.add(candidate.pipeline(self.plan), candidate.options, answer.read, answer)

    def _tell(self, asked: _Asked, trial: Trial) -> None:
        counts = self.study.tell(asked.trial, trial, self.goals)
        self.asked.popleft()
        if counts:
            self.trials[trial.number] = trial
            self.on_trial(trial, self.total)

    def _leave(self) -> None:
        """Tell what is compiled, and leave the rest to the process that asks next."""
        done = [(each, each.answer) for each in self.asked if each.answer is not None]
        if not self.assessor.measures:
            made = self.assessor.trials([(each.candidate, answer) for each, answer in done])
            for (each, _), trial in zip(done, made, strict=True):
                self.study.tell(each.trial, trial, self.goals)
        self.study.give_back()
        self.trials = self.study.trials()

    def _find_winner(self, objective: Objective) -> None:
        best = self._result().best
        self.winner = Winner(
            self.plan,
            self.evaluator,
            self.assessor,
            objective.goal,
            varied=bool(self.space.pipelines),
        )
        if isinstance(objective, RunTime):
            self.winner.confirm(self.trials.values(), objective)
        elif best is not None:
            self.winner.reduce(best)
