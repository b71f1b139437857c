"""The decoder of this process.

iced-x86 decodes if it can be imported, else capstone, which is slower. iced-x86 does not have wheels for all
interpreters that llvmlite has wheels for (none for free-threaded ones).
"""

from __future__ import annotations

from functools import cache

from optctx.arch.processor import CannotDecodeError
from optctx.arch.x86_64.decoding import Decoder

__all__ = ["decoder"]


@cache
def decoder() -> Decoder:
    """The decoder of this process. Raises CannotDecodeError."""
    try:
        from optctx.arch.x86_64.decoding_iced import IcedDecoder

        return IcedDecoder()
    except ImportError as error:
        missing = str(error)
    try:
        from optctx.arch.x86_64.decoding_capstone import CapstoneDecoder

        return CapstoneDecoder()
    except ImportError as error:
        raise CannotDecodeError(
            f"neither iced-x86 nor capstone can be used ({missing}; {error}); install one of them"
        ) from error
