"""Runs the benchmarks named on the command line, or all of them, each in a process of its own."""

from __future__ import annotations

import subprocess
import sys

# Timings first: they are the ones that other work on the machine disturbs.
ALL = ("attach", "scopes", "lookups", "parallel", "instructions")


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in ALL]
    if unknown:
        print(f"no benchmark called {', '.join(unknown)}; there are {', '.join(ALL)}", file=sys.stderr)
        return 2
    status = 0
    for name in names or ALL:
        status |= subprocess.run([sys.executable, "-m", f"evidence.benchmarks.{name}"]).returncode
    return int(status != 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
