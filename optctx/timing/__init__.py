"""Run time of compiled code, measured honestly; outputs compared."""

from optctx.timing.bench import Bench, Stop, check, confirm, measure
from optctx.timing.counting import run_command
from optctx.timing.harness import Array, Harness, Value
from optctx.timing.kinds import Kind
from optctx.timing.processors import ProcessorLock, processors
from optctx.timing.reproduce import Case, read_case, reproduce
from optctx.timing.results import (
    Budget,
    Clock,
    Confirmation,
    Difference,
    Interval,
    Measurement,
    Outcome,
    State,
    Timing,
    Tolerance,
)

__all__ = [
    "Array",
    "Bench",
    "Budget",
    "Case",
    "Clock",
    "Confirmation",
    "Difference",
    "Harness",
    "Interval",
    "Kind",
    "Measurement",
    "Outcome",
    "ProcessorLock",
    "State",
    "Stop",
    "Timing",
    "Tolerance",
    "Value",
    "check",
    "confirm",
    "measure",
    "processors",
    "read_case",
    "reproduce",
    "run_command",
]
