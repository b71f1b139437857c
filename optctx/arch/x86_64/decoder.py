"""The decoder of this process, imported when something is to be decoded: a kept attach decodes nothing."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from optctx.arch.code import CannotDecodeError

if TYPE_CHECKING:
    from optctx.arch.x86_64.capstone_decoder import CapstoneDecoder


@cache
def decoder() -> CapstoneDecoder:
    """Return the decoder. Raises CannotDecodeError."""
    try:
        from optctx.arch.x86_64.capstone_decoder import CapstoneDecoder

        return CapstoneDecoder()
    except ImportError as error:
        raise CannotDecodeError(f"capstone cannot be used ({error}); install it") from error
