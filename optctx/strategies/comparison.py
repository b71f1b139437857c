"""Strategies side by side: which properties hold for which, and what each costs."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from typing import Any

from optctx.fresh import Job
from optctx.strategies.choosing import open_strategy
from optctx.strategies.figures import Figures, figures_of
from optctx.strategies.judging import Judge
from optctx.strategies.kernel import KERNEL, OPTIONS
from optctx.strategies.properties import PROPERTIES, Verdict

__all__ = ["Compared", "Comparison", "compare"]

# One set for each thread and for each latency, all of them values of an option that -O3 reads in every loop.
_SETS = tuple((f"-unroll-count={count}",) for count in range(2, 34))


@dataclass(frozen=True)
class Compared:
    """One strategy. `unavailable`: why nothing of it was tried, or "".

    Attributes:
        refused: Of the sets of options that properties draw from, those that the strategy does not take, with
            its words.
        verdicts: By the property's name.
        figures: None where they were not asked for.
    """

    strategy: str
    source: str
    unavailable: str = ""
    refused: dict[str, str] = field(default_factory=dict)
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    figures: Figures | None = None

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "strategy": self.strategy,
            "source": self.source,
            "unavailable": self.unavailable or None,
            "refused": self.refused,
            "properties": {
                name: {
                    "holds": verdict.holds,
                    "programs": verdict.programs,
                    "counterexample": list(verdict.counterexample) or None,
                }
                for name, verdict in self.verdicts.items()
            },
            "figures": None if self.figures is None else asdict(self.figures),
        }


@dataclass(frozen=True)
class Comparison:
    """What `compare` has found. `machine`: the processor, how many this process may use, the versions."""

    strategies: tuple[Compared, ...]
    machine: dict[str, Any]

    def as_dict(self) -> dict[str, Any]:
        """For JSON: `strategies` and `machine`."""
        return {"strategies": [each.as_dict() for each in self.strategies], "machine": self.machine}


def compare(
    names: Sequence[str],
    *,
    properties: Sequence[str] = tuple(PROPERTIES),
    programs: int = 40,
    seconds: float = 10.0,
    seed: int = 0,
    job: Job | None = None,
    threads: int = 2,
    throughput_seconds: float = 2.0,
    told: Callable[[str], None] = lambda text: None,
) -> Comparison:
    """Compare strategies by name. Changes nothing in this process: everything runs in others.

    Args:
        properties: Names of `PROPERTIES`; none skips them.
        programs: Drawn for each property, at most.
        seconds: For each property, after which no further program is run.
        seed: Equal seeds draw equal programs.
        job: What the figures are measured with; None measures none.
        threads: The largest number of threads that the figures are measured with.
        throughput_seconds: For each throughput.
        told: Called with a line for each step, on any thread.

    Raises OptctxError for names that are none, and if a process of a strategy ends where it must not.
    """
    opened = [open_strategy(name) for name in names]
    found = {each.name: Compared(each.name, each.source, each.unavailable) for each in opened}
    usable = [name for name in found if not found[name].unavailable]
    if properties:
        with ThreadPoolExecutor(_processors()) as pool:
            judged = pool.map(
                lambda name: _judge(found[name], properties, programs, seconds, seed, told), usable
            )
            found |= {each.strategy: each for each in judged}
    if job is not None:
        for name in usable:  # one after the other: they would disturb one another
            told(f"{name}: figures")
            figures = figures_of(name, job, _SETS, threads=threads, seconds=throughput_seconds)
            found[name] = Compared(**{**vars(found[name]), "figures": figures})
    return Comparison(tuple(found.values()), _machine())


def _judge(
    compared: Compared,
    properties: Sequence[str],
    programs: int,
    seconds: float,
    seed: int,
    told: Callable[[str], None],
) -> Compared:
    verdicts = {}
    with Judge(compared.strategy, Job(KERNEL, emit="assembly"), OPTIONS, seed) as judge:
        for name in properties:
            told(f"{compared.strategy}: {name}")
            verdicts[name] = judge.judge(name, programs=programs, seconds=seconds)
        refused = {" ".join(options): why for options, why in judge.refused.items()}
    return Compared(compared.strategy, compared.source, "", refused, verdicts)


def _processors() -> int:
    return len(os.sched_getaffinity(0))


def _machine() -> dict[str, Any]:
    from llvmlite import __version__
    from llvmlite.binding import get_host_cpu_name, llvm_version_info

    return {
        "processor": get_host_cpu_name(),
        "processors": _processors(),
        "python": platform.python_version(),
        "llvmlite": __version__,
        "llvm": ".".join(map(str, llvm_version_info)),
    }
