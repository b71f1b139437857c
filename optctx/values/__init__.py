"""N0: every option that LLVM has registered, with its type, default and value; and values to give to it."""

from optctx.values.layers import Layers
from optctx.values.trust import CLASSES, Judgement, judgement_of, read_for_all

__all__ = ["CLASSES", "Judgement", "Layers", "judgement_of", "read_for_all"]
