"""Run time of compiled code, measured honestly; outputs compared."""

from optctx.lab.timing.bench import Bench, Stop, check, confirm, measure
from optctx.lab.timing.conditions import Conditions, conditions
from optctx.lab.timing.counting import run_command
from optctx.lab.timing.harness import Array, Harness, Value
from optctx.lab.timing.kinds import Kind
from optctx.lab.timing.measuring import Measuring
from optctx.lab.timing.processors import ProcessorLock, processors
from optctx.lab.timing.reproduce import Case, read_case, reproduce
from optctx.lab.timing.results import (
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
    "Conditions",
    "Confirmation",
    "Difference",
    "Harness",
    "Interval",
    "Kind",
    "Measurement",
    "Measuring",
    "Outcome",
    "ProcessorLock",
    "State",
    "Stop",
    "Timing",
    "Tolerance",
    "Value",
    "check",
    "conditions",
    "confirm",
    "measure",
    "processors",
    "read_case",
    "reproduce",
    "run_command",
]
