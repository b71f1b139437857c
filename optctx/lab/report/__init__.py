"""A study as one HTML page, in Optuna's form, and as the lines that compile it again (`optctx[tune]`)."""

from optctx.lab.report.commands import Reproduction, Source, reproduction
from optctx.lab.report.page import check_report, write_report

__all__ = ["Reproduction", "Source", "check_report", "reproduction", "write_report"]
