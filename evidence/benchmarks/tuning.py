"""A search of 500 trials with static figures, and the same by hand: Optuna, `opt` and `llc`.

By hand is what a script does: `study.optimize` with the same sampler and seed, a study in an SQLite file, two
trials at once, and for each of them `opt` and `llc` as subprocesses, those that `evidence compare` takes. It
compiles what it has compiled before. Then the points of one search are compiled without any search, by
optctx's helper process and by the subprocesses.

The kernel is what the clang on PATH makes of `kernel.c`, without optimisation.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from evidence.benchmarks._report import Report
from evidence.strategies.tools import CommandLineStrategy
from optctx.compiling import Job
from optctx.errors import OptctxError
from optctx.lab.command.inputs import read_input
from optctx.lab.command.main import guarded
from optctx.lab.repeat import tool_target
from optctx.lab.space import Choices, Integers, Value, Values, text_of
from optctx.lab.tuning import Limits, Search, Space, Tuned, parse_space, tune
from optctx.lab.tuning.evaluate import Candidate, Evaluator, search_plan
from optctx.lab.tuning.search import make_sampler
from optctx.lab.tuning.studies import quiet

if TYPE_CHECKING:
    import optuna

_TRIALS = 500
_SECONDS = 30.0
_FASTER = 15.0
_KERNEL = Path(__file__).with_name("kernel.c")
_PROCESSORS = 2
_SAMPLERS = ("random", "tpe")
OPTIONS = (
    "unroll-count=1..8",
    "inline-threshold=0..500:step=25",
    "enable-gvn-hoist=true,false",
    "enable-gvn-sink=true,false",
    "slp-threshold=-10..10",
    "max-dependences=10..1000:log",
    "jump-threading-threshold=1..16",
    "licm-max-num-uses-traversed=1..32",
)


@dataclass
class _Cost:
    """What a block took. Processor seconds depend less on what else the machine does."""

    wall: float = 0.0
    own: float = 0.0  # of this process
    children: float = 0.0  # of processes that have ended

    def text(self) -> str:
        return f"{self.wall:.1f}; processor: {self.own:.1f} here, {self.children:.1f} in other processes"

    @property
    def processor(self) -> float:
        return self.own + self.children


@contextmanager
def _counted() -> Iterator[_Cost]:
    cost = _Cost()
    wall, own, children = time.perf_counter(), time.process_time(), _children()
    yield cost
    cost.wall = time.perf_counter() - wall
    cost.own, cost.children = time.process_time() - own, _children() - children


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> int:
    report = Report("A search of 500 trials")
    space = parse_space(OPTIONS)
    job = kernel_job()
    report.line("lines of C of the kernel", str(len(_KERNEL.read_text().splitlines())))
    tools = _Tools(job)
    report.line("tools", f"{tools.opt}, {tools.llc}")
    for sampler in _SAMPLERS:
        _search(report, job, space, sampler, "not kept")
        kept = _search(report, job, space, sampler, "kept in a file")
        with _counted() as hand:
            _by_hand(tools, space, sampler)
        report.line(f"{sampler}, by hand, {_TRIALS} trials, s", hand.text())
        report.target(f"{sampler}, by hand / optctx", hand.wall / kept.wall, _FASTER, at_least=True)
        ratio = hand.processor / kept.processor
        report.line(f"{sampler}, the same by processor time", f"{ratio:.2f}")
    _without_a_search(report, job, space, tools)
    report.load("at the end")
    return report.end()


def _search(report: Report, job: Job, space: Space, sampler: str, where: str) -> _Cost:
    with tempfile.TemporaryDirectory() as folder, _counted() as cost:
        study = _tune(
            job, space, sampler, str(Path(folder, "night.journal")) if where == "kept in a file" else None
        )
    name = f"{sampler}, {where}"
    report.line(f"{name}: {study.compiled} compilations, s", cost.text())
    report.target(f"{name}, s", study.seconds, _SECONDS)
    return cost


def _tune(job: Job, space: Space, sampler: str, file: str | None) -> Tuned:
    search = Search(sampler, trials=_TRIALS)
    return tune(job, space, search=search, limits=Limits(jobs=_PROCESSORS), storage=file)


def kernel_job() -> Job:
    """The compilation that is searched. Raises OptctxError without a clang that LLVM can read."""
    job = Job("", triple="x86_64-pc-linux-gnu")
    return replace(job, ir=read_input(str(_KERNEL), job))


class _Tools:
    """`opt` and `llc` on a module."""

    def __init__(self, job: Job) -> None:
        found = CommandLineStrategy()
        if found.unavailable:
            raise OptctxError(found.unavailable)
        self.opt, self.llc = found.opt, found.llc
        self._job = job

    def size(self, folder: Path, place: int, options: Mapping[str, str]) -> int:
        """Bytes of the object under these options."""
        source, code, out = folder / "kernel.bc", folder / f"{place}.bc", folder / f"{place}.o"
        if not source.exists():
            assert isinstance(self._job.ir, bytes)
            source.write_bytes(self._job.ir)
        words, target = [f"-{name}={value}" for name, value in options.items()], tool_target(self._job)
        _run([self.opt, f"-passes={self._job.passes}", *target, *words, str(source), "-o", str(code)])
        # llc knows options of its own passes alone.
        _run([self.llc, f"-O{self._job.opt_level}", *target, "-filetype=obj", str(code), "-o", str(out)])
        return os.path.getsize(out)


def _by_hand(tools: _Tools, space: Space, sampler: str) -> None:
    """A search by Optuna."""
    import optuna

    with tempfile.TemporaryDirectory() as folder, quiet():
        study = optuna.create_study(
            sampler=make_sampler(sampler, 0, space), storage=f"sqlite:///{folder}/night.db"
        )

        def objective(trial: optuna.Trial) -> float:
            options = {
                each.name: text_of(_suggest(trial, each.name, each.values)) for each in space.dimensions
            }
            return tools.size(Path(folder), trial.number, options)

        tools.size(Path(folder), -1, {})
        study.optimize(objective, n_trials=_TRIALS, n_jobs=_PROCESSORS)


def _suggest(trial: optuna.Trial, name: str, values: Values) -> Value:
    if isinstance(values, Choices):
        return str(trial.suggest_categorical(name, values.texts))
    assert isinstance(values, Integers)
    return trial.suggest_int(name, values.low, values.high, step=values.step, log=values.log)


def _without_a_search(report: Report, job: Job, space: Space, tools: _Tools) -> None:
    points = [trial.options for trial in _tune(job, space, "random", None).trials]
    with _counted() as helper:
        _through_helper(job, space, points)
    with _counted() as plain:
        _through_subprocesses(tools, points)
    report.line("no search, the helper process, s", helper.text())
    report.line("no search, opt and llc, s", plain.text())
    ratios = plain.wall / helper.wall, plain.processor / helper.processor
    report.line("no search, opt and llc / helper: wall, processor", f"{ratios[0]:.2f}, {ratios[1]:.2f}")


def _through_helper(job: Job, space: Space, points: Sequence[Mapping[str, str]]) -> None:
    plan = search_plan(job, space, Limits(jobs=_PROCESSORS, memory=None), noted=True)
    with Evaluator(plan) as evaluator:
        evaluator.base()
        for number, options in enumerate(points):
            evaluator.submit(Candidate(number, tuple(options.items())))
        left = len(points)
        while left:
            left -= len(evaluator.answers())


def _through_subprocesses(tools: _Tools, points: Sequence[Mapping[str, str]]) -> None:
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(_PROCESSORS) as pool:
        tools.size(Path(folder), -1, {})
        list(pool.map(lambda place: tools.size(Path(folder), place, points[place]), range(len(points))))


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")


if __name__ == "__main__":
    sys.exit(guarded(main))
