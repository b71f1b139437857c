"""`tune`: search a space of options for the best compilation of a module."""

from __future__ import annotations

import math
import os
import platform
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack, suppress
from typing import Any

from optctx.compiling import Job
from optctx.errors import Interrupted, OptctxError
from optctx.lab.sweep.plan import Answer
from optctx.lab.tuning.assess import Assessor
from optctx.lab.tuning.budget import Budget
from optctx.lab.tuning.cluster import ExecutorWorkers, Expected, RemoteEvaluator, RemotePlace, Workers
from optctx.lab.tuning.evaluate import Candidate, make_setup
from optctx.lab.tuning.evaluators import Evaluator, LocalEvaluator
from optctx.lab.tuning.identity import Identity, identity_of, versions
from optctx.lab.tuning.journal import Journal, open_journal
from optctx.lab.tuning.known import Known
from optctx.lab.tuning.machine import machine
from optctx.lab.tuning.measured import RunTime
from optctx.lab.tuning.objectives import CompilationTime, Objective, Size, emit_for
from optctx.lab.tuning.place import Here, Place
from optctx.lab.tuning.results import INTERRUPTED, Goal, Study, Trial, progress
from optctx.lab.tuning.samplers import check_pruner, check_sampler, learns, need_optuna
from optctx.lab.tuning.search import Search, go_on
from optctx.lab.tuning.space import Space
from optctx.lab.tuning.winner import Winner
from optctx.lazy import lazy

__all__ = ["Tuning", "tune"]

_WINDOW = 8  # trials under way at once
_INDEPENDENT = 10_000  # the same where no point depends on another's figures: as the search goes, any number
_MEMORY = 4 << 30  # bytes
_LISTED = 10_000  # points of a space
_REPEATS = 3  # compilations whose time counts


def tune(
    job: Job,
    space: Space,
    objectives: Sequence[Objective] = (Size(),),
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
    cluster: str | None = None,
    pruner: str = "none",
    window: int | None = None,
    wrong: str | None = None,
    minimise: bool = False,
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
        executor: Compile and measure by the workers of this one instead, such as Dask's
            `Client.get_executor()`. Each worker attaches on its own. One that has another LLVM, llvmlite or
            optctx is refused (`Study.refused`), and, where run times are compared, one with another processor
            than the worker that measured the base. A search that ends early cancels what has not begun, but
            not in a process pool before Python 3.12, which does up to `window` tasks more.
        cluster: The same by the Dask cluster whose scheduler has this address ("tcp://10.0.0.1:8786"). What a
            lost worker did is done again; a trial that three workers were lost with has "crashed".
        pruner: Stop trials whose run time falls behind between rounds of its measurement: "median",
            "percentile:25", "halving", "hyperband" or "threshold:1.5". A trial that is stopped is "pruned".
            With one objective, `RunTime`, on this machine.
        window: Trials under way at once, 8 by default. The search depends on it: a sampler knows nothing of
            what runs. "random" and "grid" need to know nothing, so by default they keep everything busy that
            compiles, unless something is measured.
        wrong: The folder in which a wrong result leaves what reproduces it; by default beside the study.
        minimise: In the end, drop options from the best trial as long as that makes it no worse
            (`Study.minimised`); with one objective.
        on_trial: Called with each trial as it ends, on this thread.

    Raises OptctxError before anything is compiled for a module, pipeline or target that LLVM refuses, for a
    base that crashes, without Optuna, and for a study that is of something else; as OptionContext does for
    options and values. Raises it during the search if the helper process is killed, if the study cannot be
    written or its file is deleted, and if no worker can be used.

    Once the base is compiled, Ctrl-C raises Interrupted, a KeyboardInterrupt. Its `partial` is the Study so
    far.
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
        cluster=cluster,
        pruner=pruner,
        window=window,
        wrong=wrong,
        minimise=minimise,
        on_trial=on_trial,
    ) as tuning:
        return tuning.run()


class Tuning:
    """A search that can be looked at while it runs, and after an interrupt. A context manager, for one
    thread.

    Arguments are those of `tune`. `job` is what it compiles.
    """

    def __init__(
        self,
        job: Job,
        space: Space,
        objectives: Sequence[Objective] = (Size(),),
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
        cluster: str | None = None,
        pruner: str = "none",
        window: int | None = None,
        wrong: str | None = None,
        minimise: bool = False,
        on_trial: Callable[[Trial], None] = lambda trial: None,
    ) -> None:
        need_optuna()
        self.job = job
        self._objectives = _distinct(objectives)
        self._goals: tuple[Goal, ...] = tuple(each.goal for each in self._objectives)
        if not space.dimensions:
            raise OptctxError("there is nothing to search: give options with --set NAME=VALUES")
        check_sampler(sampler, space, len(self._goals))
        timed = any(isinstance(each, CompilationTime) for each in self._objectives)
        _check_remote(executor, cluster, timed=timed, pruned=pruner != "none")
        check_pruner(pruner, self._goals, all(each.intermediate for each in self._objectives))
        self._pruner = pruner
        self._space = space
        self._sampler, self._seed = sampler, seed
        self._given = window
        self._window = _WINDOW if window is None else window
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
        self._workers = _workers(executor, cluster)
        self._place: Place = Here() if self._workers is None else RemotePlace(self._workers)
        self._file, self._resume = study, resume
        self._on_trial = on_trial
        self._known = Known(self._setup)
        self._trials: dict[int, Trial] = {}
        self._base: Trial | None = None
        self._started = time.monotonic()
        self._limit = ""  # what was reached, after which nothing more is asked for
        self._ended = ""
        self._compiled = self._emitted = 0
        self._waiting: dict[int, Candidate] = {}  # submitted
        self._done: list[tuple[Candidate, Answer]] = []  # compiled, without figures
        self._minimise = minimise
        self._winner: Winner | None = None
        self._searching: Search | None = None
        self._assessor = Assessor(
            self._setup,
            self._objectives,
            self._place,
            wrong or _wrong_folder(study),
            None if pruner == "none" else self._prune,
        )
        self._stack = ExitStack()

    def __enter__(self) -> Tuning:
        with self._stack as stack:
            self._journal = self._open(stack)
            self._stored = self._journal.read() if self._journal is not None else {}
            self._trials = {number: stored.trial for number, stored in self._stored.items()}
            self._evaluator = self._make_evaluator()
            stack.enter_context(self._evaluator)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error: Any) -> None:
        self._assessor.stop()
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
            pruner=self._pruner,
            space=tuple(self._space.texts()),
            pipelines=self._setup.pipelines,
            machine=self._machine(),
            versions={**versions(), **_more_versions()},
            seconds=time.monotonic() - self._started,
            compiled=self._compiled,
            emitted=self._emitted,
            ended=self._ended,
            total=self._total,
            file=self._file or "",
            confirmation=self._winner.confirmation if self._winner else None,
            minimised=self._winner.options if self._winner else None,
            refused=tuple(self._workers.refused) if self._workers else (),
            lost=tuple(self._workers.lost) if self._workers else (),
        )

    @property
    def begun(self) -> bool:
        """Whether `study` has something to show."""
        return self._base is not None

    @property
    def progress(self) -> str:
        """How far the study is: "8 of 12 trials", those of earlier runs among them."""
        return progress(len(self._trials), self._total)

    def run(self) -> Study:
        """Search until the budget ends or the space has been tried. Call it once.

        Raises Interrupted on Ctrl-C, once the base is compiled; `study` has what was found by then.
        """
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
        search = go_on(self._search, {n: (each.trial, each.values) for n, each in self._stored.items()})
        self._searching = search
        for candidate in search.running:
            self._start(candidate)
        while True:
            self._ask(search)
            # What is measured waits for a whole block, so that nothing is compiled beside it.
            if self._waiting and (self._assessor.measures or not self._done):
                self._collect()
            if self._assessor.measures and self._waiting:
                continue
            if not self._done:
                break
            done, self._done = sorted(self._done, key=lambda each: each[0].number), []
            for trial in self._assessor.trials(done):
                self._finish(search, trial)
        self._assessor.stop()
        if len(self._goals) == 1:
            self._find_winner(self._goals[0])
        if self._journal is not None:
            self._journal.check_in_place()
        self._ended = self._limit

    def _find_winner(self, goal: Goal) -> None:
        self._winner = winner = Winner(
            self._evaluator,
            self._assessor,
            self._place,
            goal,
            self._base_answer.code,
            self._seed,
            varied=bool(self._space.pipelines),
            fewest=self._minimise,
        )
        (objective,) = self._objectives
        if isinstance(objective, RunTime):
            winner.confirm(self._trials.values(), objective)
        elif (best := self.study.best) is not None:
            winner.reduce(best)

    def _prune(self, number: int, step: int, figure: float) -> bool:
        return self._searching is not None and self._searching.report(number, step, figure)

    def _ask(self, search: Search) -> None:
        """Start as many trials as the budget and the order of the search allow."""
        while not self._limit and search.ready:
            running = len(self._waiting) + len(self._done)
            if running >= self._most:
                return
            ordered = [self._trials[number] for number in sorted(self._trials)]
            self._limit = self._budget.reached(ordered, running, self._goals, self._started)
            if self._limit:
                return
            candidate = search.ask()
            if candidate is None:
                self._limit = "every point of the space was tried"
                return
            self._start(candidate)

    @lazy
    def _total(self) -> int | None:
        """How many trials the whole search has, where its budget or its space tells."""
        points = self._space.count
        if points <= _LISTED:
            points = sum(1 for _ in self._space.points())  # conditions make it fewer
        most = min(points, math.inf if self._budget.trials is None else self._budget.trials)
        return None if math.isinf(most) else max(int(most), len(self._trials))

    @property
    def _most(self) -> int:
        """Trials under way at once."""
        free = self._given is None and self._independent
        return max(self._window, self._evaluator.enough) if free else self._window

    @property
    def _independent(self) -> bool:
        """Whether trials can be done in any order. Those that are measured are measured in blocks."""
        return not learns(self._sampler) and not self._assessor.measures

    def _start(self, candidate: Candidate) -> None:
        """Have a candidate compiled, unless it is known what would come out."""
        known = self._known.find(candidate)
        if known is not None:
            self._done.append((candidate, known))
            return
        self._waiting[candidate.number] = candidate
        self._evaluator.submit(candidate)

    def _collect(self) -> None:
        for answer in self._evaluator.answers():
            self._compiled += self._setup.repeats
            self._emitted += self._setup.repeats if answer.emitted else 0
            candidate = self._waiting.pop(answer.number)
            self._known.add(candidate, answer)
            self._done.append((candidate, answer))

    def _finish(self, search: Search, trial: Trial) -> None:
        try:
            if self._journal is not None:
                self._journal.append(trial, search.values_of(trial.number))
            self._trials[trial.number] = trial
        except KeyboardInterrupt:  # perhaps after it was written: what is shown is what is kept
            with suppress(OptctxError):
                if self._journal is not None and trial.number in self._journal.read():
                    self._trials[trial.number] = trial
            raise
        search.result(trial)
        self._on_trial(trial)

    def _compile_base(self) -> Trial:
        candidate = Candidate(-1, ())
        answer = self._evaluator.base()
        self._base_answer = answer
        if answer.state == "ok":
            self._assessor.measure_against(answer)
        (base,) = self._assessor.trials([(candidate, answer)])
        if base.state != "ok":
            how = _ENDS[answer.state] if answer.state != "ok" else "has no figure"
            raise OptctxError(f"cannot tune: without any option the module {how} ({base.error})")
        self._known.add(candidate, answer)
        return base

    def _machine(self) -> dict[str, Any]:
        model = self._workers.expected.processor if self._workers is not None else ""
        return {**machine(), **({"measured on": model} if model else {})}

    def _search(self) -> Search:
        return Search(
            self._space,
            self._goals,
            sampler=self._sampler,
            seed=self._seed,
            window=_INDEPENDENT if self._independent else self._window,
            blocks=self._assessor.measures,
            pruner=self._pruner,
        )

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
        texts = [each.identity for each in self._objectives]
        return identity_of(
            self._setup,
            self._space,
            texts,
            sampler=self._sampler,
            seed=self._seed,
            window=self._window,
            pruner=self._pruner,
        )

    def _make_evaluator(self) -> Evaluator:
        if self._workers is not None:
            return RemoteEvaluator(self._setup, self._workers)
        return LocalEvaluator(self._setup, self._threads)


def _wrong_folder(study: str | None) -> str:
    return "wrong-results" if study is None or "://" in study else f"{study}.wrong"


_ENDS = {"failed": "does not compile", "crashed": "crashes LLVM", "timed out": "takes too long"}


def _check_remote(executor: Executor | None, cluster: str | None, *, timed: bool, pruned: bool) -> None:
    """Raise OptctxError for what other machines cannot do."""
    if executor is None and cluster is None:
        return
    if executor is not None and cluster is not None:
        raise OptctxError("a search runs on an executor or on a cluster, found both; give one of them")
    if timed:
        raise OptctxError(
            "the objective 'compile-time' is of compilations one at a time on one machine; leave the cluster "
            "or executor out"
        )
    if pruned:
        raise OptctxError(
            "a pruner compares trials while they are measured, on one machine; leave out the pruner, or the "
            "cluster or executor"
        )


def _workers(executor: Executor | None, cluster: str | None) -> Workers | None:
    if executor is not None:
        return ExecutorWorkers(executor, Expected.here())
    if cluster is not None:
        from optctx.lab.tuning.cluster.dask import DaskWorkers

        return DaskWorkers(cluster, Expected.here())
    return None


def _distinct(objectives: Sequence[Objective]) -> tuple[Objective, ...]:
    names = [each.goal.name for each in objectives]
    if not names:
        raise OptctxError("there is nothing to search by: give an objective, such as size")
    for name in names:
        if names.count(name) > 1:
            raise OptctxError(f"the objective {name!r} is given twice; give it once")
    return tuple(objectives)


def _more_versions() -> dict[str, str]:
    from importlib.metadata import version

    return {"python": platform.python_version(), "optuna": version("optuna")}
