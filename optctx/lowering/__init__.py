"""Options written into a module as the attributes and flags that LLVM has for them."""

from optctx.lowering.writing import EQUIVALENTS, NOT_EXACT, lower

__all__ = ["EQUIVALENTS", "NOT_EXACT", "lower"]
