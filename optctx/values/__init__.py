"""N0: every option that LLVM has registered, with its type, default and value; and values to give to it."""

from optctx.values.layers import Layers
from optctx.values.registry import Option, Registry, registry

__all__ = ["Layers", "Option", "Registry", "registry"]
