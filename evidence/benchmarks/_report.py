"""What every benchmark prints: the machine, the versions, figures with their spread, and the verdict."""

from __future__ import annotations

import os
import platform
import shutil
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path


@dataclass(frozen=True)
class Spread:
    """Median, minimum and maximum of repeats of one measurement."""

    median: float
    low: float
    high: float
    repeats: int

    def text(self, scale: float = 1.0, digits: int = 3) -> str:
        """The three figures, each times `scale`."""
        median, low, high = (f"{value * scale:.{digits}f}" for value in (self.median, self.low, self.high))
        return f"{median} ({low} to {high}, {self.repeats} runs)"


def spread(values: Sequence[float]) -> Spread:
    return Spread(statistics.median(values), min(values), max(values), len(values))


class Report:
    """Prints as it goes, and remembers whether every target was met."""

    def __init__(self, title: str) -> None:
        self.passed = True
        print(f"{title}\n{'-' * len(title)}")
        print(f"machine   {_processor()}, {os.cpu_count()} processors, Linux {platform.release()}")
        packages = ", ".join(f"{name} {version(name)}" for name in ("llvmlite", "optctx"))
        print(f"versions  Python {platform.python_version()}, {packages}")
        self.load("at start")

    def load(self, when: str) -> None:
        """Other work on the machine: what is above 0 at the start is not this benchmark's."""
        print(f"load      {when}: {os.getloadavg()[0]:.2f} in the last minute, {_running()} running now")

    def line(self, name: str, value: str) -> None:
        print(f"  {name:<48} {value}", flush=True)

    def target(
        self, name: str, value: float, limit: float, unit: str = "", *, at_least: bool = False
    ) -> None:
        """A figure against its limit."""
        met = value >= limit if at_least else value <= limit
        self.passed &= met
        wanted = f"{'at least' if at_least else 'at most'} {limit:g}{unit}"
        self.line(name, f"{value:.4g}{unit}  target {wanted}: {'pass' if met else 'FAIL'}")

    def end(self) -> int:
        """The script's exit status."""
        self.load("at end")
        print("every target met\n" if self.passed else "a target was MISSED\n", flush=True)
        return 0 if self.passed else 1


def _running() -> int:
    """Threads of other programs that are running or waiting for a processor at this moment."""
    with open("/proc/loadavg") as file:
        return int(file.read().split()[3].partition("/")[0]) - 1


def fresh_output(code: str, *arguments: str) -> str:
    """Standard output of a Python program in a process of its own; raises if it fails."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout


def compile_cpp(source: str, out: Path, *flags: str) -> None:
    """Compile a file of this folder with $CXX, or c++."""
    compiler = (os.environ.get("CXX") or shutil.which("c++") or "g++").split()
    path = Path(__file__).with_name(source)
    subprocess.run([*compiler, "-std=c++20", "-O2", *flags, path, "-o", out, "-ldl"], check=True)


def _processor() -> str:
    with open("/proc/cpuinfo") as file:
        names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    return names[0] if names else platform.machine()
