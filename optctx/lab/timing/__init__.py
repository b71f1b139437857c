"""Run time of compiled code, measured honestly; outputs compared."""

from optctx.lab.timing.bench import Bench, check
from optctx.lab.timing.cases import Case, read_case
from optctx.lab.timing.harness import Array, Harness, Kind, Value
from optctx.lab.timing.harness_text import NoHarnessError, find_harness, harness_of
from optctx.lab.timing.measuring import Measuring
from optctx.lab.timing.processors import Conditions, ProcessorLock, conditions, processors
from optctx.lab.timing.results import (
    Budget,
    Clock,
    Confirmation,
    Difference,
    Interval,
    Measurement,
    Outcome,
    Timing,
    Tolerance,
)
from optctx.lab.timing.settings_compared import Compared, Row, compare_settings

__all__ = [
    "Array",
    "Bench",
    "Budget",
    "Case",
    "Clock",
    "Compared",
    "Conditions",
    "Confirmation",
    "Difference",
    "Harness",
    "Interval",
    "Kind",
    "Measurement",
    "Measuring",
    "NoHarnessError",
    "Outcome",
    "ProcessorLock",
    "Row",
    "Timing",
    "Tolerance",
    "Value",
    "check",
    "compare_settings",
    "conditions",
    "find_harness",
    "harness_of",
    "processors",
    "read_case",
]
