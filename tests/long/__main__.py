"""Run what proves more than `make test`: more often, in turns, on other Pythons, and with the tools for it.

Every stage runs, whatever came of those before it, and pytest names the tests that it skips. The last lines
name what failed, and interpreters that are missing. The exit status is 1 if anything failed, otherwise 3 if
one is missing.

The path of an interpreter is a stage as well: `make test` with it, in an environment of its own.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parents[2]
# Beside the one that the tests are run on all the time. What ends in t is free-threaded.
PYTHONS: Final = ("python3.14", "python3.14t", "python3.15", "python3.15t")


class Stage(NamedTuple):
    """A command. `python`: the interpreter that it needs, a program on PATH or the path of one."""

    name: str
    command: tuple[str, ...]
    python: str = ""


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


def run_stages(given: Sequence[Stage]) -> tuple[list[str], list[str]]:
    """Run them one after the other. Returns those that failed, and those that lack their interpreter."""
    failed, missing = [], []
    for stage in given:
        if stage.python and shutil.which(stage.python) is None:
            configure = "./configure --disable-gil" if stage.python.endswith("t") else "./configure"
            words = f"it is not there; build CPython ({configure}), and put it on PATH or name its path"
            missing.append(f"not run: {stage.name}: {words}: make test-long STAGES=/path/to/python")
            continue
        print(f"--- {stage.name}: {' '.join(stage.command)}", flush=True)
        if status := subprocess.run(stage.command, cwd=ROOT, check=False).returncode:
            failed.append(f"failed: {stage.name} (status {status})")
    return failed, missing


def main(arguments: Sequence[str] | None = None) -> int:
    seed = int(time.time())
    every = {stage.name: stage for stage in stages(seed)}
    parser = argparse.ArgumentParser(prog="make test-long", description=__doc__)
    parser.add_argument("stages", nargs="*", metavar="STAGE", help=f"of {', '.join(every)}, or a path (all)")
    chosen = parser.parse_args(arguments).stages or list(every)
    if unknown := [name for name in chosen if name not in every and "/" not in name]:
        parser.error(f"no stage is called {unknown[0]}; there are {', '.join(every)}, and paths of Pythons")
    failed, missing = run_stages([every.get(name) or on_python(os.path.abspath(name)) for name in chosen])
    print(f"--- seed {seed}", *failed, *missing, sep="\n")
    return 1 if failed else 3 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
