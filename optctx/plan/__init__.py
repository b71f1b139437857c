"""What is to be done with an image: which options contexts can set, and which code changes for that."""

from optctx.plan.plan import Plan, plan_redirected
from optctx.plan.reach import Reach
from optctx.plan.references import find_ends

__all__ = ["Plan", "Reach", "find_ends", "plan_redirected"]
