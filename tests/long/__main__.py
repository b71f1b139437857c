"""Run what proves more than `make test`: more often, in turns, on other Pythons, and with the tools for it.

Every stage runs, whatever came of those before it. The last lines name what failed and what was not run:
a stage that misses a program, and a test that each stage skipped. The exit status is 1 if anything failed,
otherwise 3 if anything was not run.

The path of an interpreter is a stage as well: `make test` with it, in an environment of its own.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple
from xml.etree import ElementTree

ROOT: Final = Path(__file__).parents[2]
# Beside the one that the tests are run on all the time. What ends in t is free-threaded.
PYTHONS: Final = ("python3.14", "python3.14t", "python3.15", "python3.15t")


class Stage(NamedTuple):
    """A command. `python`: the interpreter that it needs, a program on PATH or the path of one."""

    name: str
    command: tuple[str, ...]
    python: str = ""


@dataclass
class Report:
    """What came of the stages. Tests are (module, name); a module that is skipped as a whole has no name."""

    failed: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    ran: set[tuple[str, str]] = field(default_factory=set)
    skipped: dict[tuple[str, str], str] = field(default_factory=dict)

    def add_results(self, results: Path) -> None:
        """The tests of a stage, from pytest's file in JUnit's format."""
        for case in ElementTree.parse(results).iter("testcase"):
            module, name = case.get("classname", ""), case.get("name", "")
            skip = case.find("skipped")
            if skip is None:
                self.ran |= {(module, name), ("", module)}
            else:
                self.skipped[module, name] = skip.get("message", "")

    def lines(self) -> Iterator[str]:
        yield from (f"failed: {each}" for each in self.failed)
        yield from (f"not run: {each}" for each in self.missing)
        for (module, name), reason in sorted(self.skipped.items()):
            if (module, name) not in self.ran:
                yield f"not run: {'::'.join(filter(None, (module, name)))}: {reason}"

    @property
    def status(self) -> int:
        return 1 if self.failed else 3 if any(self.lines()) else 0


def stages(seed: int) -> tuple[Stage, ...]:
    """In the order in which they run."""
    tool = (sys.executable, "-m")
    pytest, often = (*tool, "pytest", "-q", "-n", "auto"), ("--minutes", "10", "--seed", str(seed))
    return (
        Stage("long", (*pytest, "-m", "long")),
        Stage("examples", (*pytest, "-m", "hypothesis and not long", "--hypothesis-profile", "long")),
        Stage("soak", (*tool, "tests.long.soak", *often)),
        Stage("fuzz", (*tool, "tests.long.fuzz", *often)),
        Stage("numba", (*tool, "tests.long.numba_suite")),
        Stage("mutants", (*tool, "tests.long.mutants")),
        *map(on_python, PYTHONS),
    )


def on_python(python: str) -> Stage:
    """`make test` with another interpreter: a program on PATH, or a path."""
    folder = python.strip("/").replace("/", "-")
    return Stage(python, ("make", "test", f"PYTHON={python}", f"VENV=build/test-long/{folder}"), python)


def run_stages(given: Sequence[Stage]) -> Report:
    """Run them one after the other. What they print is printed."""
    report = Report()
    for stage in given:
        if stage.python and shutil.which(stage.python) is None:
            configure = "./configure --disable-gil" if stage.python.endswith("t") else "./configure"
            words = f"it is not there; build CPython ({configure}), and put it on PATH or name its path"
            report.missing.append(f"{stage.name}: {words}: make test-long STAGES=/path/to/python")
            continue
        print(f"--- {stage.name}: {' '.join(stage.command)}", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            results = Path(folder, "results.xml")
            environment = {**os.environ, "PYTEST_ADDOPTS": f"--junitxml={results}"}
            status = subprocess.run(stage.command, cwd=ROOT, env=environment, check=False).returncode
            if status:
                report.failed.append(f"{stage.name} (status {status})")
            if results.exists():
                report.add_results(results)
    return report


def main(arguments: Sequence[str] | None = None) -> int:
    seed = int(time.time())
    every = {stage.name: stage for stage in stages(seed)}
    parser = argparse.ArgumentParser(prog="make test-long", description=__doc__)
    parser.add_argument("stages", nargs="*", metavar="STAGE", help=f"of {', '.join(every)}, or a path (all)")
    chosen = parser.parse_args(arguments).stages or list(every)
    if unknown := [name for name in chosen if name not in every and "/" not in name]:
        parser.error(f"no stage is called {unknown[0]}; there are {', '.join(every)}, and paths of Pythons")
    report = run_stages([every.get(name) or on_python(os.path.abspath(name)) for name in chosen])
    print(f"--- seed {seed}", *report.lines(), sep="\n")
    return report.status


if __name__ == "__main__":
    sys.exit(main())
