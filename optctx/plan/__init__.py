"""What is to be done with an image: which options contexts can set, and which code changes for that."""

from optctx.plan.plan import Plan, make_plan
from optctx.plan.references import find_ends, read_references
from optctx.plan.ways_in import called, find_entrances

__all__ = ["Plan", "called", "find_ends", "find_entrances", "make_plan", "read_references"]
