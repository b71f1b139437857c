"""Strategies side by side: which properties hold for which, and what each costs."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from evidence.strategies.choosing import open_strategy
from evidence.strategies.figures import Figures, figures_of
from evidence.strategies.host import Host
from evidence.strategies.judging import Judge
from evidence.strategies.kernel import KERNEL, OPTIONS
from evidence.strategies.properties import PROPERTIES, Verdict
from optctx.compiling import Job
from optctx.errors import Interrupted
from optctx.wording import counted

_LOOK = 0.1  # seconds between two looks at signals
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
        left: What an interrupt kept from being found: names of properties, and "figures".
    """

    strategy: str
    source: str
    unavailable: str = ""
    refused: dict[str, str] = field(default_factory=dict)
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    figures: Figures | None = None
    left: tuple[str, ...] = ()

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
            "left": list(self.left),
        }


@dataclass(frozen=True)
class Comparison:
    """What `compare` has found. `machine`: the processor, how many this process may use, the versions.

    `finished`: False after an interrupt.
    """

    strategies: tuple[Compared, ...]
    machine: dict[str, Any]
    finished: bool = True

    def as_dict(self) -> dict[str, Any]:
        """For JSON: `strategies`, `machine` and `finished`."""
        strategies = [each.as_dict() for each in self.strategies]
        return {"strategies": strategies, "machine": self.machine, "finished": self.finished}

    @property
    def progress(self) -> str:
        """How far it came before an interrupt, in verdicts and figures."""
        left = sum(len(each.left) for each in self.strategies)
        done = sum(len(each.verdicts) + (each.figures is not None) for each in self.strategies)
        return f"interrupted after {done} of {counted(done + left, 'result')}"


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

    Raises OptctxError if a process of a strategy ends where it must not. Ctrl-C raises Interrupted, a
    KeyboardInterrupt, with the Comparison so far as `partial`. Whatever ends it, the processes end at once.
    """
    opened = [open_strategy(name) for name in names]
    wanted = (*properties, *(["figures"] if job is not None else []))
    found = {
        each.name: Compared(each.name, each.source, each.unavailable, left=() if each.unavailable else wanted)
        for each in opened
    }
    usable = [name for name in found if not found[name].unavailable]
    judging = _Judging(found, properties, programs, seconds, seed, told)
    try:
        if properties:
            judging.judge(usable)
        if job is not None:
            for name in usable:  # one after the other: they would disturb one another
                told(f"{name}: figures")
                figures = figures_of(name, job, _SETS, threads=threads, seconds=throughput_seconds)
                found[name] = replace(found[name], figures=figures, left=())
    except KeyboardInterrupt:
        raise Interrupted(Comparison(tuple(found.values()), _machine(), finished=False)) from None
    return Comparison(tuple(found.values()), _machine())


@dataclass
class _Judging:
    """Enters the verdicts on strategies among what was found, each as it is known."""

    found: dict[str, Compared]
    properties: Sequence[str]
    programs: int
    seconds: float
    seed: int
    told: Callable[[str], None]
    hosts: list[Host] = field(default_factory=list)
    stopped: bool = False

    def judge(self, names: Sequence[str]) -> None:
        """Judge strategies, one per processor at a time. If it is interrupted, the processes end."""
        pool = ThreadPoolExecutor(min(_processors(), len(names)) or 1)
        try:
            for future in [pool.submit(self._judge, name) for name in names]:
                # A thread that forks may get a signal instead of this one, which then would not wake up.
                while not future.done():
                    wait((future,), _LOOK)
                future.result()
        except BaseException:
            self.stopped = True  # the threads see the ends of the processes as errors of theirs, and end
            for host in self.hosts:
                host.stop()
            raise
        finally:
            pool.shutdown(cancel_futures=True)

    def _judge(self, strategy: str) -> None:
        job = Job(KERNEL, emit="assembly")
        host = Host(strategy, job)
        self.hosts.append(host)
        if self.stopped:
            return
        with Judge(strategy, job, OPTIONS, self.seed, host=host) as judge:
            refused = {" ".join(options): why for options, why in judge.refused.items()}
            for name in self.properties:
                self.told(f"{strategy}: {name}")
                verdict = judge.judge(name, programs=self.programs, seconds=self.seconds)
                if self.stopped:
                    return
                before = self.found[strategy]
                self.found[strategy] = replace(
                    before,
                    refused=refused,
                    verdicts={**before.verdicts, name: verdict},
                    left=tuple(each for each in before.left if each != name),
                )


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
