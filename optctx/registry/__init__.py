"""N0: everything that LLVM has registered, with types, defaults and process-wide values."""

from optctx.registry.registry import Option, Registry, registry

__all__ = ["Option", "Registry", "registry"]
