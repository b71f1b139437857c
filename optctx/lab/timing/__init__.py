"""Run time of compiled code, measured honestly; outputs compared."""

from typing import TYPE_CHECKING

from optctx.lab.timing.bench import Bench, Stop, check
from optctx.lab.timing.conditions import Conditions, conditions
from optctx.lab.timing.counting import run_command
from optctx.lab.timing.harness import Array, Harness, Value
from optctx.lab.timing.harness_text import NoHarnessError, find_harness, harness_of
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

if TYPE_CHECKING:
    from optctx.lab.timing.numba_call import Call, call_of

__all__ = [
    "Array",
    "Bench",
    "Budget",
    "Call",
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
    "NoHarnessError",
    "Outcome",
    "ProcessorLock",
    "State",
    "Stop",
    "Timing",
    "Tolerance",
    "Value",
    "call_of",
    "check",
    "conditions",
    "find_harness",
    "harness_of",
    "processors",
    "read_case",
    "reproduce",
    "run_command",
]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """What needs Numba, imported on first use."""
        if name in ("Call", "call_of"):
            from optctx.lab.timing import numba_call

            return globals().setdefault(name, getattr(numba_call, name))
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
