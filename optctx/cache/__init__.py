"""A cache of compiled code, keyed by what its compilation read."""

from optctx.cache.cache import CompileCache

__all__ = ["CompileCache"]
