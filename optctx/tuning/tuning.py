"""`tune`: search a space of options for the best compilation of a module."""

from __future__ import annotations

import math
import os
import platform
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from optctx.errors import OptctxError
from optctx.fresh import Job
from optctx.sweep.plan import Answer
from optctx.tuning.budget import Budget
from optctx.tuning.evaluate import Candidate, make_setup
from optctx.tuning.evaluators import Evaluator, ExecutorEvaluator, LocalEvaluator
from optctx.tuning.identity import Identity, identity_of, versions
from optctx.tuning.journal import Journal, open_journal
from optctx.tuning.known import Known
from optctx.tuning.objectives import CompilationTime, Size, Static, emit_for
from optctx.tuning.results import Goal, Study, Trial
from optctx.tuning.samplers import check_sampler, need_optuna
from optctx.tuning.search import Search, go_on
from optctx.tuning.space import Space

__all__ = ["Tuning", "tune"]

_WINDOW = 8  # trials under way at once
_MEMORY = 4 << 30  # bytes
_REPEATS = 3  # compilations whose time counts


def tune(
    job: Job,
    space: Space,
    objectives: Sequence[Static] = (Size(),),
    *,
    sampler: str = "tpe",
    seed: int = 0,
    budget: Budget | None = None,
    study: str | None = None,
    resume: bool = False,
    threads: int | None = None,
    timeout: float | None = None,
    memory: int | None = _MEMORY,
    executor: Executor | None = None,
    window: int = _WINDOW,
    on_trial: Callable[[Trial], None] = lambda trial: None,
) -> Study:
    """Search a space of option values for the best compilation of a module.

    Each trial is compiled inside an OptionContext of its own, on a thread of a helper process: nothing that
    LLVM does there reaches this process, and a crash or a hang is the state of its trial. Options that the
    space does not name have the values that the calling thread sees now. The same seed gives the same trials,
    on any number of threads, if the figures are the same.

    Arguments:
        job: What to compile.
        objectives: What to search by. Several give a Pareto front (`Study.front`).
        sampler: "tpe", "cmaes", "nsga2", "random" or "grid".
        budget: When to stop; 100 trials by default. A search also ends when the space has been tried.
        study: An SQLite file that keeps each trial as it ends, or the URL of another database. None keeps
        nothing. resume: Go on with the study that is there, if there is one.
        threads: Compilations at once; one per processor by default. For `CompilationTime` it is one.
        timeout: Seconds for each compilation; 20 times what the base takes by default, but at least 10.
        memory: Bytes of address space for each compilation, beyond what LLVM itself takes; None is no limit.
        executor: Compile by this one instead. Its workers need optctx and the same LLVM.
        window: Trials under way at once. The search depends on it: a sampler knows nothing of what runs.
        on_trial: Called with each trial as it ends, on this thread.

    Raises OptctxError before anything is compiled for a module, pipeline or target that LLVM refuses, for a
    base that crashes, without Optuna, and for a study that is of something else; as OptionContext does for
    options and values. Raises it during the search if the helper process is killed or the study cannot be
    written.
    """
    with Tuning(
        job,
        space,
        objectives,
        sampler=sampler,
        seed=seed,
        budget=budget,
        study=study,
        resume=resume,
        threads=threads,
        timeout=timeout,
        memory=memory,
        executor=executor,
        window=window,
        on_trial=on_trial,
    ) as tuning:
        return tuning.run()


class Tuning:
    """A search that can be looked at while it runs, and after an interrupt. A context manager, for one
    thread.

    Arguments are those of `tune`.
    """

    def __init__(
        self,
        job: Job,
        space: Space,
        objectives: Sequence[Static] = (Size(),),
        *,
        sampler: str = "tpe",
        seed: int = 0,
        budget: Budget | None = None,
        study: str | None = None,
        resume: bool = False,
        threads: int | None = None,
        timeout: float | None = None,
        memory: int | None = _MEMORY,
        executor: Executor | None = None,
        window: int = _WINDOW,
        on_trial: Callable[[Trial], None] = lambda trial: None,
    ) -> None:
        need_optuna()
        self._objectives = _distinct(objectives)
        self._goals: tuple[Goal, ...] = tuple(each.goal for each in self._objectives)
        if not space.dimensions:
            raise OptctxError("there is nothing to search: give options with --set NAME=VALUES")
        check_sampler(sampler, space, len(self._goals))
        timed = any(isinstance(each, CompilationTime) for each in self._objectives)
        self._space = space
        self._sampler, self._seed, self._window = sampler, seed, window
        self._budget = Budget() if budget is None else budget
        self._setup = make_setup(
            job,
            space,
            timeout=timeout,
            memory=memory,
            emit=emit_for(self._objectives),
            noted=True,
            repeats=_REPEATS if timed else 1,
        )
        self._threads = 1 if timed else threads or os.cpu_count() or 1
        self._executor = executor
        self._file, self._resume = study, resume
        self._on_trial = on_trial
        self._known = Known(self._setup)
        self._trials: dict[int, Trial] = {}
        self._base: Trial | None = None
        self._started = time.monotonic()
        self._ended = ""
        self._compiled = 0
        self._stack = ExitStack()

    def __enter__(self) -> Tuning:
        with self._stack as stack:
            self._journal = self._open(stack)
            self._stored = self._journal.read() if self._journal is not None else {}
            self._evaluator = self._make_evaluator()
            stack.enter_context(self._evaluator)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.__exit__(*error)

    @property
    def study(self) -> Study:
        """What was found so far. Call it after the base has been compiled, in `on_trial` at the earliest."""
        assert self._base is not None, "nothing has been compiled yet"
        return Study(
            goals=self._goals,
            base=self._base,
            trials=tuple(self._trials[number] for number in sorted(self._trials)),
            sampler=self._sampler,
            seed=self._seed,
            space=tuple(self._space.texts()),
            pipelines=self._setup.pipelines,
            machine=machine(),
            versions={**versions(), **_more_versions()},
            seconds=time.monotonic() - self._started,
            compiled=self._compiled,
            ended=self._ended,
            file=self._file or "",
        )

    @property
    def begun(self) -> bool:
        """Whether `study` has something to show."""
        return self._base is not None

    def run(self) -> Study:
        """Search until the budget ends or the space has been tried."""
        self._started = time.monotonic()
        self._base = self._compile_base()
        self._trials = {number: stored.trial for number, stored in self._stored.items()}
        search = go_on(self._search, {n: (each.trial, each.values) for n, each in self._stored.items()})
        running = {each.number: each for each in search.running}
        for candidate in list(running.values()):
            self._start(search, candidate, running)
        while True:
            while not self._ended and len(running) < self._window and search.ready:
                self._ended = self._reached(len(running))
                if self._ended:
                    break
                asked = search.ask()
                if asked is None:
                    self._ended = "every point of the space was tried"
                    break
                running[asked.number] = asked
                self._start(search, asked, running)
            if not running:
                return self.study
            for answer in self._evaluator.answers():
                self._compiled += self._setup.repeats
                candidate = running.pop(answer.number)
                self._known.add(candidate, answer)
                self._finish(search, candidate, answer)

    def _reached(self, running: int) -> str:
        ordered = [self._trials[number] for number in sorted(self._trials)]
        return self._budget.reached(ordered, running, self._goals, self._started)

    def _start(self, search: Search, candidate: Candidate, running: dict[int, Candidate]) -> None:
        """Have a candidate compiled, unless it is known what would come out."""
        known = self._known.find(candidate)
        if known is None:
            self._evaluator.submit(candidate)
        else:
            del running[candidate.number]
            self._finish(search, candidate, known)

    def _finish(self, search: Search, candidate: Candidate, answer: Answer) -> None:
        trial = self._trial(candidate, answer)
        if self._journal is not None:
            self._journal.append(trial, search.values_of(candidate.number))
        self._trials[trial.number] = trial
        search.result(trial)
        self._on_trial(trial)

    def _trial(self, candidate: Candidate, answer: Answer) -> Trial:
        options = {name: text for name, text in candidate.point if name != "passes"}
        trial = Trial(
            candidate.number,
            options,
            candidate.pipeline(self._setup),
            answer.state,
            {},
            seconds=answer.seconds,
            error=answer.error,
        )
        if answer.state != "ok":
            return trial
        known = {"digest": answer.digest, "size": answer.object_size, "instructions": answer.instructions}
        try:
            figures = {each.goal.name: _figure(each, answer) for each in self._objectives}
        except Exception as error:  # of a function of the caller's
            words = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            return replace(trial, state="failed", error=words, attributes=known)
        return replace(trial, objectives=figures, attributes=known)

    def _compile_base(self) -> Trial:
        answer = self._evaluator.base()
        base = self._trial(Candidate(-1, ()), answer)
        if base.state != "ok":
            how = _ENDS[answer.state] if answer.state != "ok" else "has no figure"
            raise OptctxError(f"cannot tune: without any option the module {how} ({base.error})")
        self._known.add(Candidate(-1, ()), answer)
        return base

    def _search(self) -> Search:
        return Search(self._space, self._goals, sampler=self._sampler, seed=self._seed, window=self._window)

    def _open(self, stack: ExitStack) -> Journal | None:
        if self._file is None:
            if self._resume:
                raise OptctxError("cannot resume without a study; name the one to go on with: --study FILE")
            return None
        pipeline = self._setup.pipelines[0]
        return stack.enter_context(
            open_journal(
                self._file, self._identity(), self._space, self._goals, pipeline, resume=self._resume
            )
        )

    def _identity(self) -> Identity:
        texts = [f"{goal.name}: {goal.direction}" for goal in self._goals]
        return identity_of(
            self._setup, self._space, texts, sampler=self._sampler, seed=self._seed, window=self._window
        )

    def _make_evaluator(self) -> Evaluator:
        if self._executor is not None:
            return ExecutorEvaluator(self._setup, self._executor)
        return LocalEvaluator(self._setup, self._threads)


_ENDS = {"failed": "does not compile", "crashed": "crashes LLVM", "timed out": "takes too long"}


def _distinct(objectives: Sequence[Static]) -> tuple[Static, ...]:
    names = [each.goal.name for each in objectives]
    if not names:
        raise OptctxError("there is nothing to search by: give an objective, such as size")
    for name in names:
        if names.count(name) > 1:
            raise OptctxError(f"the objective {name!r} is given twice; give it once")
    return tuple(objectives)


def _figure(objective: Static, answer: Answer) -> float:
    figure = float(objective.figure(answer))
    if not math.isfinite(figure):
        raise ValueError(f"the objective {objective.goal.name!r} gave {figure}")
    return figure


def machine() -> dict[str, Any]:
    """The machine that figures come from."""
    return {
        "processor": _processor(),
        "processors": os.cpu_count() or 1,
        "system": f"{platform.system()} {platform.release()}",
        "machine": platform.machine(),
    }


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine()


def _more_versions() -> dict[str, str]:
    from importlib.metadata import version

    return {"python": platform.python_version(), "optuna": version("optuna")}
