"""Counting the instructions of programs, or of a stretch of Python code, under callgrind."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path


def is_missing() -> bool:
    """Whether there is no valgrind, and say so."""
    missing = shutil.which("valgrind") is None
    if missing:
        print("needs valgrind (Debian: apt-get install valgrind)", file=sys.stderr)
    return missing


def run_counted(command: Iterable[object], *flags: str, profile: Path | None = None) -> tuple[int, str]:
    """(instructions, standard output) of a command. `profile`: where callgrind's file is to stay."""
    with tempfile.TemporaryDirectory() as folder:
        file = profile or Path(folder, "profile")
        words = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={file}", *flags, *map(str, command)]
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{' '.join(words)} failed:\n{done.stderr}")
        found = re.search(r"^totals: (\d+)", file.read_text(), re.MULTILINE)
    if found is None:
        raise SystemExit(f"callgrind wrote no total:\n{done.stderr}")
    return int(found[1]), done.stdout


def run_python_counted(
    module: str, *arguments: str, flags: Iterable[str] = (), profile: Path | None = None
) -> tuple[int, str]:
    """As `run_counted`, of `python -m module arguments...` inside its blocks of `counted`."""
    own = (
        "--instr-atstart=no",
        "--smc-check=all",  # attaching changes code
        "--vex-iropt-register-updates=allregs-at-mem-access",  # recording looks at registers in a handler
    )
    return run_counted([sys.executable, "-m", module, *arguments], *own, *flags, profile=profile)
