"""Options that stay with a module from the step that compiles it to the step that links it."""

from optctx.links.check import check_link
from optctx.links.report import LinkReport, Mismatch, Said
from optctx.links.stamp import stamp

__all__ = ["LinkReport", "Mismatch", "Said", "check_link", "stamp"]
