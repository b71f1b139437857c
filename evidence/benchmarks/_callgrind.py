"""Counting the instructions of a stretch of Python code under callgrind, and reading the count."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from optctx.lab.timing.x86_64.callgrind import counted

__all__ = ["counted", "run_counted"]


def run_counted(module: str, *arguments: str) -> tuple[int, str]:
    """(instructions, standard output) of `python -m module arguments...` under callgrind."""
    with tempfile.TemporaryDirectory() as folder:
        profile = Path(folder, "profile")
        command = [
            "valgrind",
            "--tool=callgrind",
            "--instr-atstart=no",
            "--smc-check=all",  # attaching changes code
            "--vex-iropt-register-updates=allregs-at-mem-access",  # recording looks at registers in a handler
            f"--callgrind-out-file={profile}",
            sys.executable,
            "-m",
            module,
            *arguments,
        ]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
        found = re.search(r"^totals: (\d+)", profile.read_text(), re.MULTILINE)
        if found is None:
            raise SystemExit(f"callgrind wrote no total:\n{done.stderr}")
        return int(found[1]), done.stdout
