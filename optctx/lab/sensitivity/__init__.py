"""Finds which of the options that LLVM reads change the output, and by how much."""

from optctx.lab.sensitivity.plot import save_plot
from optctx.lab.sensitivity.report import By, Effect, NotTried, Report, Trial, Verdict
from optctx.lab.sensitivity.run import Limits, sensitivity
from optctx.lab.sensitivity.table import as_csv, as_json, as_table

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
