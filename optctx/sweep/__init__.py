"""One module under many combinations of option values, in threads of one process."""

from optctx.sweep.grid import Axis, combinations, overrides, parse_axes
from optctx.sweep.sweep import Row, sweep
from optctx.sweep.table import as_csv, as_json, as_table

__all__ = ["Axis", "Row", "as_csv", "as_json", "as_table", "combinations", "overrides", "parse_axes", "sweep"]
