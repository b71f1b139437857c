"""Options that stay with a module from the step that compiles it to the step that links it."""

from optctx.links.stamp import stamp

__all__ = ["stamp"]
