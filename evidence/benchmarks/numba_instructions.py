"""Instructions executed by compilations of Numba's, counted by callgrind.

The baseline is a process without optctx. The functions and the ways are those of numba_compile.py,
whose clock other work on the machine disturbs by more than what is measured. Each way is a fresh process.
"""

from __future__ import annotations

import gc
import os
import sys
from contextlib import ExitStack

from evidence.benchmarks._callgrind import counted, is_missing, run_python_counted
from evidence.benchmarks._report import Report
from evidence.benchmarks.numba_compile import BASELINE, LIMITS, OWN, compile_once, prepared

_WARM, _COUNTED = 2, 2  # rounds
_WAYS = (BASELINE, *LIMITS, OWN)


def main() -> int:
    report = Report("Instructions executed by compilations of Numba's")
    if is_missing():
        return 2
    os.environ["PYTHONHASHSEED"] = "0"  # or sets would be walked in other orders
    counts = {}
    for way in _WAYS:
        counts[way], _ = run_python_counted("evidence.benchmarks.numba_instructions", way)
        report.line(f"{way}, millions", f"{counts[way] / 1e6:.1f}")
    for way, limit in LIMITS.items():
        report.target(f"{way}, of {BASELINE.partition(' (')[0]}", counts[way] / counts[BASELINE], limit)
    report.line(f"{OWN}, of {BASELINE}", f"{counts[OWN] / counts[BASELINE]:.4f}")
    return report.end()


def run(way: str) -> None:
    """Compiles in one way; for a process of its own, under callgrind."""
    import numba

    with ExitStack() as stack:
        decorate = numba.njit
        if way != BASELINE:
            decorate = prepared(way, stack)
        for _ in range(_WARM):
            compile_once(decorate)
        gc.collect()
        gc.disable()
        with counted():
            for _ in range(_COUNTED):
                compile_once(decorate)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        run(sys.argv[1])
    else:
        sys.exit(main())
