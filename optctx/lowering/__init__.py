"""Options written into a module as the attributes and flags that LLVM has for them."""

from optctx.lowering.table import EQUIVALENTS, NOT_EXACT
from optctx.lowering.writing import lower

__all__ = ["EQUIVALENTS", "NOT_EXACT", "lower"]
