"""Compiles modules under many combinations of option values. A crash or a hang of LLVM is a row."""

from optctx.lab.sweep.grid import Axis, combinations, overrides, parse_axes
from optctx.lab.sweep.records import as_csv, as_json
from optctx.lab.sweep.row import Row, State
from optctx.lab.sweep.sweep import sweep
from optctx.lab.sweep.table import as_table

__all__ = [
    "Axis",
    "Row",
    "State",
    "as_csv",
    "as_json",
    "as_table",
    "combinations",
    "overrides",
    "parse_axes",
    "sweep",
]
