"""`tune`: search a space of options for the best compilation of a module."""

from __future__ import annotations

import importlib.metadata
import inspect
import math
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Any, ParamSpec

from optctx.compiling import Job
from optctx.errors import Interrupted, OptctxError
from optctx.lab.settings import identity
from optctx.lab.space import PASSES, Choices, Floats, Integers, Space, Value
from optctx.lab.sweep.by_reads import ByReads
from optctx.lab.sweep.plan import Answer, Limits
from optctx.lab.timing.processors import machine, processor_model
from optctx.lab.trials import Goal, Kept, Trial, Trials, identity_of, open_trials, versions
from optctx.lab.tuning.asking import Asking, go_on
from optctx.lab.tuning.assess import Assessor
from optctx.lab.tuning.evaluate import BASE, Candidate, Evaluator, search_plan
from optctx.lab.tuning.objectives import CompilationTime, Objective, RunTime, Size, Static, emit_for
from optctx.lab.tuning.results import INTERRUPTED, Front, Study, progress
from optctx.lab.tuning.search import MOST_TRIALS, Search, check_sampler, need_optuna
from optctx.lab.tuning.winner import Winner
from optctx.lazy import lazy

P = ParamSpec("P")

_LISTED = 10_000  # points of a space
_REPEATS = 3  # compilations whose time counts
_FEW = 16  # options of a best trial that are tried without each other, where that takes compilations alone

_ENDS = {"failed": "does not compile", "crashed": "crashes LLVM", "timed out": "takes too long"}


class Tuning:
    """A search that can be looked at while it runs, and after an interrupt. A context manager, for one
    thread. `tune` enters one and runs it.

    Each trial is compiled inside an OptionContext of its own, on a thread of a helper process: nothing that
    LLVM does there reaches this process, and a crash or a hang is the state of its trial. Options that the
    space does not name have the values that the calling thread sees now.

    Arguments:
        job: What to compile. Its `options` and `emit` are ignored. It is an attribute as well.
        objectives: What to search by. Several give a Pareto front (`Study.front`).
        search: How, and until when.
        limits: What compilations may take. For `CompilationTime` there is one at a time.
        keep: A file that keeps each trial as it ends. resume: Go on with the trials that are there.
        wrong: The folder in which a wrong result leaves what reproduces it; by default beside `keep`.
        on_trial: Called with each trial as it ends, on this thread.

    Raises OptctxError before anything is compiled for a module, pipeline or target that LLVM refuses, for a
    base that crashes, without Optuna, and for a file that is of something else; as OptionContext does for
    options and values. Raises it during the search if the helper process is killed, if the file cannot be
    written or is deleted.

    Once the base is compiled, Ctrl-C raises Interrupted, a KeyboardInterrupt. Its `partial` is the Study so
    far.
    """

    def __init__(
        self,
        job: Job,
        space: Space,
        objectives: Sequence[Objective] = (Size(),),
        search: Search = Search(),  # noqa: B008  frozen
        *,
        limits: Limits = Limits(),  # noqa: B008  frozen
        keep: str | None = None,
        resume: bool = False,
        wrong: str | None = None,
        on_trial: Callable[[Trial], None] = lambda trial: None,
    ) -> None:
        need_optuna()
        self.job = job
        self._objectives = _distinct(objectives)
        self._goals: tuple[Goal, ...] = tuple(each.goal for each in self._objectives)
        if not space.dimensions:
            raise OptctxError("there is nothing to search: give options with --try NAME=VALUES")
        check_sampler(search.sampler, space, len(self._goals))
        timed = any(isinstance(each, CompilationTime) for each in self._objectives)
        self._space, self._search = space, search
        limits = limits.within(search.seconds)
        self._plan = search_plan(
            job,
            space,
            replace(limits, jobs=1) if timed else limits,
            emit=emit_for(self._objectives),
            noted=True,
            repeats=_REPEATS if timed else 1,
        )
        self._evaluator = Evaluator(self._plan)
        self._keep, self._resume = keep, resume
        self._on_trial = on_trial
        self._known: ByReads[Answer] = ByReads()  # what equal compilations have given
        self._file = Trials(Kept())
        self._asking: Asking
        self._front: Front
        self._base: Trial | None = None
        self._started = time.monotonic()
        self._limit = ""  # what was reached, after which nothing more is asked for
        self._ended = ""
        self._compiled = 0
        self._waiting: dict[int, Candidate] = {}  # submitted
        self._done: list[tuple[Candidate, Answer]] = []  # compiled, without figures
        self._winner: Winner | None = None
        self._assessor = Assessor(
            self._plan,
            self._objectives,
            self._evaluator,
            wrong or ("wrong-results" if keep is None else f"{keep}.wrong"),
        )
        self._stack = ExitStack()
        self._entered = False

    def __enter__(self) -> Tuning:
        with self._stack as stack:
            self._file = stack.enter_context(
                open_trials(
                    self._keep, self._identity(), self._goals, self._space, self._point, resume=self._resume
                )
            )
            stack.enter_context(self._evaluator)
            stack.callback(self._assessor.stop)
            self._stack = stack.pop_all()
        self._entered = True
        return self

    def __exit__(self, *error: Any) -> None:
        self._entered = False
        self._stack.__exit__(*error)

    @property
    def study(self) -> Study:
        """What was found so far. Call it after the base has been compiled, in `on_trial` at the earliest."""
        assert self._base is not None, "nothing has been compiled yet"
        return Study(
            goals=self._goals,
            base=self._base,
            trials=tuple(self._trials[number] for number in sorted(self._trials)),
            sampler=self._search.sampler,
            seed=self._search.seed,
            space=tuple(self._space.texts()),
            pipelines=self._plan.pipelines,
            machine=machine(),
            versions={
                **versions(),
                "python": platform.python_version(),
                "optuna": importlib.metadata.version("optuna"),
            },
            seconds=time.monotonic() - self._started,
            compiled=self._compiled,
            ended=self._ended,
            total=self.total,
            file=self._keep or "",
            confirmation=self._winner.confirmation if self._winner else None,
            minimised=self._winner.options if self._winner else None,
        )

    @property
    def _trials(self) -> dict[int, Trial]:
        """Those that have ended, by number."""
        return self._file.kept.trials

    @property
    def begun(self) -> bool:
        """Whether `study` has something to show."""
        return self._base is not None

    @property
    def progress(self) -> str:
        """How far the study is: "8 of 12 trials", those of earlier runs among them."""
        return progress(len(self._trials), self.total)

    def run(self) -> Study:
        """Search until a limit is reached or the space has been tried. Call it once.

        Raises Interrupted on Ctrl-C, once the base is compiled; `study` has what was found by then. Raises
        OptctxError for another call after that, and outside the `with` block.
        """
        if not self._entered:
            raise OptctxError("this Tuning is not running; use it inside its `with` block")
        if self.begun:
            raise OptctxError(
                "a Tuning searches once; to go on with a search, give another one its file (keep=) and "
                "resume=True"
            )
        try:
            self._run()
        except KeyboardInterrupt:
            self._ended = self._ended or INTERRUPTED
            if not self.begun:
                raise
            raise Interrupted(self.study) from None
        return self.study

    def _run(self) -> None:
        self._started = time.monotonic()
        self._base = self._compile_base()
        self._assessor.know(self._trials.values())
        make = partial(Asking, self._space, self._goals, self._search, blocks=self._assessor.measures)
        self._asking = go_on(make, {n: (trial, self._values(trial)) for n, trial in self._trials.items()})
        self._front = Front(self._goals, self._trials.values())
        for candidate in self._asking.running:
            self._start(candidate)
        while True:
            self._ask()
            # What is measured waits for a whole block, so that nothing is compiled beside it.
            if self._waiting and (self._assessor.measures or not self._done):
                self._collect()
            if self._assessor.measures and self._waiting:
                continue
            if not self._done:
                break
            done, self._done = sorted(self._done, key=lambda each: each[0].number), []
            for trial in self._assessor.trials(done):
                self._file.append(trial)
                self._front.add(trial)
                self._asking.result(trial)
                self._on_trial(trial)
        if len(self._goals) == 1:
            self._find_winner(self._goals[0])
        self._file.check_in_place()
        self._ended = self._limit

    def _find_winner(self, goal: Goal) -> None:
        (objective,) = self._objectives
        best = self.study.best
        cheap = isinstance(objective, Static) and not isinstance(objective, CompilationTime)
        self._winner = winner = Winner(
            self._evaluator,
            self._assessor,
            goal,
            self._search.seed,
            varied=bool(self._space.pipelines),
            fewest=self._search.minimise or (cheap and best is not None and len(best.options) <= _FEW),
        )
        if isinstance(objective, RunTime):
            self._assessor.stop()  # a second check has a bench of its own, for the same processor
            winner.confirm(self._trials.values(), objective)
        elif best is not None:
            winner.reduce(best)

    def _ask(self) -> None:
        """Start as many trials as the limits and the order of the search allow."""
        while not self._limit and self._asking.ready:
            running = len(self._waiting) + len(self._done)
            if running >= self._most:
                return
            self._limit = self._search.reached(self._trials, running, self._front, self._started)
            if self._limit:
                return
            candidate = self._asking.ask()
            if candidate is None:
                self._limit = "every point of the space was tried"
                return
            self._start(candidate)

    @lazy
    def total(self) -> int | None:
        """How many trials the whole search has, where its limits or its space tell."""
        points = self._space.count
        if points <= _LISTED:
            points = len(self._space.points())
        most = min(points, math.inf if self._search.most == MOST_TRIALS else self._search.most)
        return None if most == math.inf else max(int(most), len(self._trials))

    @property
    def _most(self) -> int:
        """Trials under way at once."""
        free = self._search.window is None and self._asking.independent
        return max(self._search.under_way, self._evaluator.enough) if free else self._search.under_way

    def _start(self, candidate: Candidate) -> None:
        """Have a candidate compiled, unless it is known what would come out."""
        known = self._known.find(candidate.pipeline(self._plan), candidate.options)
        if known is not None:
            self._done.append((candidate, replace(known[1], number=candidate.number)))
            return
        self._waiting[candidate.number] = candidate
        self._evaluator.submit(candidate)

    def _collect(self) -> None:
        for answer in self._evaluator.answers():
            times = self._plan.repeats if answer.state == "ok" else 1  # the first without output ends them
            self._compiled += times
            candidate = self._waiting.pop(answer.number)
            self._know(candidate, answer)
            self._done.append((candidate, answer))

    def _know(self, candidate: Candidate, answer: Answer) -> None:
        """Enter what came out, if it is known what was read."""
        if answer.state == "ok" and answer.read is not None:
            self._known.add(candidate.pipeline(self._plan), candidate.options, answer.read, answer)

    def _compile_base(self) -> Trial:
        answer = self._evaluator.base()
        if answer.state == "ok":
            self._assessor.measure_against(answer)
        (base,) = self._assessor.trials([(BASE, answer)])
        if base.state != "ok":
            how = _ENDS[answer.state] if answer.state != "ok" else "has no figure"
            raise OptctxError(f"cannot tune: without any option the module {how} ({base.error})")
        self._know(BASE, answer)
        return base

    def _point(self, number: int) -> Mapping[str, Value]:
        return self._asking.values_of(number)

    def _identity(self) -> Mapping[str, Any]:
        jobs = {str(place): replace(self.job, passes=each) for place, each in enumerate(self._plan.pipelines)}
        more: dict[str, Any] = {}
        # Multiples of the base's time on one processor say nothing of another one.
        if any(isinstance(each, RunTime) for each in self._objectives):
            more["processor"] = processor_model()
        return identity_of(
            "tune",
            jobs,
            (self._plan.arguments, self._plan.attributes),
            space=self._space.texts(),
            objectives=[each.identity for each in self._objectives],
            **identity(self._search),
            window=self._search.under_way,
            **more,
        )

    def _values(self, trial: Trial) -> dict[str, Value]:
        """What a kept trial tried, as values of the space. Raises OptctxError for one of another study."""
        texts = {**({PASSES: trial.passes} if self._space.pipelines else {}), **trial.options}
        kinds: dict[type, type] = {Integers: int, Floats: float, Choices: str}
        try:
            values = {
                each.name: kinds[type(each.values)](texts[each.name]) for each in self._space.dimensions
            }
        except (KeyError, ValueError):
            values = {}
        figures = set(trial.objectives) == {goal.name for goal in self._goals}
        known = values.keys() == texts.keys() and self._space.holds(values)
        if not known or figures is not (trial.state == "ok"):
            raise OptctxError(
                f"cannot resume from {self._keep}: its trial {trial.number} is not of this study; name "
                "another file"
            )
        return values


def _searching(make: Callable[P, Tuning]) -> Callable[P, Study]:
    def tune(*arguments: P.args, **named: P.kwargs) -> Study:
        """Search a space of option values for the best compilation of a module.

        Arguments and errors are those of `Tuning`.
        """
        with make(*arguments, **named) as tuning:
            return tuning.run()

    signature = inspect.signature(make).replace(return_annotation="Study")
    tune.__signature__ = signature  # type: ignore[attr-defined]
    tune.__qualname__ = tune.__name__
    return tune


tune = _searching(Tuning)


def _distinct(objectives: Sequence[Objective]) -> tuple[Objective, ...]:
    names = [each.goal.name for each in objectives]
    if not names:
        raise OptctxError("there is nothing to search by: give an objective, such as size")
    for name in names:
        if names.count(name) > 1:
            raise OptctxError(f"the objective {name!r} is given twice; give it once")
    return tuple(objectives)
