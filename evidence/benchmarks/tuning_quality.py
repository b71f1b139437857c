"""Whether a search finds what trying every point finds, on the kernels of examples/tuning.

Every point of a space is compiled and, where the object is new, run under callgrind. Then searches with ten
seeds ask for a tenth of the points. Their figures are those of the same compilations: a search is a function
of its seed and its figures (design/tuning.md), so they need not be taken again.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from evidence.benchmarks._report import Report
from optctx.compiling import Job
from optctx.lab.timing import Harness, Tolerance
from optctx.lab.tuning import (
    Callgrind,
    Goal,
    Limits,
    Size,
    Space,
    Study,
    Trial,
    parse_space,
    tune,
)
from optctx.lab.tuning.asking import Asking
from optctx.lab.tuning.search import Search

_EXAMPLES = Path(__file__).parents[2] / "examples" / "tuning"
_KERNELS = {"hash": 0.0, "matmul": 1e-5, "stencil": 1e-5}  # with tolerances
_OPTIONS = (
    "force-vector-width=1,2,4,8,16",
    "force-vector-interleave=1,2,4,8",
    "unroll-threshold=0,50,150,300,600,1200",
    "inline-threshold=0,100,225,1000",
)
_SEEDS = range(10)
_WINDOW = 8
_CLOSE = 1.02
_ENOUGH = 9  # of the seeds
_SAMPLERS = ("tpe", "random")

_Points = Mapping[tuple[tuple[str, str], ...], Trial]


def main() -> int:
    report = Report("A tenth of the trials against all of them")
    space = parse_space(_OPTIONS)
    for kernel in _KERNELS:
        study = _everything(kernel, space)
        done = [trial for trial in study.trials if trial.state == "ok"]
        objects = len({trial.attributes["digest"] for trial in done})
        failed = len(study.trials) - len(done)
        report.line(
            f"{kernel}: points, objects, failed, s",
            f"{len(study.trials)}, {objects}, {failed}, {study.seconds:.0f}",
        )
        points = {tuple(trial.options.items()): trial for trial in study.trials}
        for goal in study.goals:
            _judge(report, kernel, space, goal, points)
    return report.end()


def _everything(kernel: str, space: Space) -> Study:
    harness = Harness.from_toml(_EXAMPLES / f"{kernel}.toml")
    counted = Callgrind(harness=harness, tolerance=Tolerance(relative=_KERNELS[kernel]))
    return tune(
        Job((_EXAMPLES / f"{kernel}.ll").read_text(), "default<O3>"),
        space,
        (counted, Size()),
        Search("grid", trials=int(space.count)),
        limits=Limits(timeout=30.0),
    )


def _judge(report: Report, kernel: str, space: Space, goal: Goal, points: _Points) -> None:
    figures = [trial.objectives[goal.name] for trial in points.values() if trial.state == "ok"]
    best = min(figures)
    close = sum(figure <= _CLOSE * best for figure in figures) / len(points)
    report.line(f"{kernel}, {goal.name}: best, worst", f"{best:g}, {max(figures):g}")
    report.line(f"{kernel}, {goal.name}: points within 2 %", f"{close:.1%}")
    for sampler in _SAMPLERS:
        found = [_search(space, goal, points, sampler, seed) for seed in _SEEDS]
        hits = sum(figure <= _CLOSE * best for figure in found)
        name = f"{kernel}, {goal.name}, {sampler}: of {len(found)} seeds within 2 %"
        if sampler == "tpe":
            report.target(name, hits, _ENOUGH, at_least=True)
        else:
            report.line(name, str(hits))
        report.line(f"{kernel}, {goal.name}, {sampler}: farthest", f"{max(found) / best - 1:.1%}")


def _search(space: Space, goal: Goal, points: _Points, sampler: str, seed: int) -> float:
    """The best figure of a tenth of the trials."""
    blocks = goal.name == "callgrind"
    search = Asking(space, [goal], Search(sampler, seed=seed, window=_WINDOW), blocks=blocks)
    best = float("inf")
    left = len(points) // 10
    while left:
        block = [found for _ in range(min(left, _WINDOW)) if search.ready and (found := search.ask())]
        for candidate in block:
            known = points[candidate.point]
            figures = {goal.name: known.objectives[goal.name]} if known.state == "ok" else {}
            search.result(Trial(candidate.number, known.options, known.passes, known.state, figures))
            best = min([best, *figures.values()])
        left -= len(block)
    return best


if __name__ == "__main__":
    sys.exit(main())
