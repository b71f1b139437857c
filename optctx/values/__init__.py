"""N0: every option that LLVM has registered, with its type, default and value; and values to give to it."""

from optctx.values.registry import Option, Registry, registry

__all__ = ["Option", "Registry", "registry"]
