"""A study as pictures: one HTML file (`optctx[tune]`), or a PNG (`optctx[plot]`)."""

from optctx.lab.tuning.report.commands import Reproduction, Source, reproduction
from optctx.lab.tuning.report.write import check_report, write_report

__all__ = ["Reproduction", "Source", "check_report", "reproduction", "write_report"]
