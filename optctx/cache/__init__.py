"""Compiled code that is kept, under what its compilation read."""

from optctx.cache.cache import CompileCache

__all__ = ["CompileCache"]
