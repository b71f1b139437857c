"""The processor whose code is redirected: finds references to storage, and makes code to run instead.

Spans are (address, bytes), sorted and disjoint. Every function may raise CannotDecodeError.
"""

from optctx.arch import x86_64 as processor
from optctx.arch.code import CannotDecodeError

__all__ = ["CannotDecodeError", "processor"]
