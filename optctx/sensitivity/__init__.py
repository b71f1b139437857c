"""Finds which of the options that LLVM reads change the output, and by how much."""

from optctx.sensitivity.plot import save_plot
from optctx.sensitivity.report import By, Effect, NotTried, Report, Trial, Verdict
from optctx.sensitivity.run import Limits, sensitivity
from optctx.sensitivity.table import as_csv, as_json, as_table

__all__ = [
    "By",
    "Effect",
    "Limits",
    "NotTried",
    "Report",
    "Trial",
    "Verdict",
    "as_csv",
    "as_json",
    "as_table",
    "save_plot",
    "sensitivity",
]
