"""Numba's own cache (`numba.njit(cache=True)`) beside scopes: code of one scope is not loaded elsewhere.

What this needs is put into Numba when optctx attaches, or when Numba calls its extensions (`init`),
whichever is later. Until then nothing of Numba's is replaced. Each process that compiles with Numba imports
this module, and next to nothing else of optctx.
"""

import sys
import warnings

__all__ = ["begin", "init"]


def init() -> None:
    """Begin, if this process uses optctx. Numba calls it where it compiles first (`numba_extensions`).

    A process that uses optctx later begins when that attaches.
    """
    if "optctx.assembling" in sys.modules:
        begin()


def begin() -> None:
    """Put it into Numba, if that is as expected; otherwise warn."""
    try:
        from optctx.plain_numba.hooks import install

        install()
    except (ImportError, AttributeError, KeyError) as error:
        from optctx.errors import NumbaOptionsWarning

        warnings.warn(
            f"Numba's cache cannot hold LLVM options, because this Numba is not as expected ({error}); leave "
            "out cache=True for functions that are compiled inside scopes",
            NumbaOptionsWarning,
            stacklevel=2,
        )
