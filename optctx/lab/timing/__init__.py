"""Run time of compiled code, measured honestly; outputs compared."""

from optctx.lab.timing.bench import (
    Bench,
    CommandBench,
    Confirmation,
    KernelBench,
    Measurement,
    Outcome,
    Timing,
    harness_of,
)
from optctx.lab.timing.compare import Compared, Row, compare_settings
from optctx.lab.timing.intervals import Interval
from optctx.lab.timing.kernel import Harness, Kernel, NoHarnessError, find_kernel
from optctx.lab.timing.measuring import Measuring

__all__ = [
    "Bench",
    "CommandBench",
    "Compared",
    "Confirmation",
    "Harness",
    "Interval",
    "Kernel",
    "KernelBench",
    "Measurement",
    "Measuring",
    "NoHarnessError",
    "Outcome",
    "Row",
    "Timing",
    "compare_settings",
    "find_kernel",
    "harness_of",
]
