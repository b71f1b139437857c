"""Run time of compiled code, measured honestly; outputs compared."""

from optctx.lab.timing.bench import Bench, Interval, Measurement, Timing, harness_of
from optctx.lab.timing.compare import Compared, Row, compare_settings
from optctx.lab.timing.kernel import Harness, Kernel, find_kernel

__all__ = [
    "Bench",
    "Compared",
    "Harness",
    "Interval",
    "Kernel",
    "Measurement",
    "Row",
    "Timing",
    "compare_settings",
    "find_kernel",
    "harness_of",
]
