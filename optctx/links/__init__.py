"""Options that stay with a module from the step that compiles it to the step that links it."""

from optctx.links.check import LinkReport, Mismatch, Said, check_link, stamp

__all__ = ["LinkReport", "Mismatch", "Said", "check_link", "stamp"]
