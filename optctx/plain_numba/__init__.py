"""Numba's own cache (`numba.njit(cache=True)`) beside scopes: code of one scope is not loaded elsewhere.

What this needs is put into Numba when optctx attaches, or when Numba calls its extensions (`optctx_numba`),
whichever is later. Until then nothing of Numba's is replaced.
"""

import warnings

from optctx.errors import NumbaOptionsWarning

__all__ = ["begin"]


def begin() -> None:
    """Put it into Numba, if that is as expected; otherwise warn."""
    try:
        from optctx.plain_numba.hooks import install

        install()
    except (ImportError, AttributeError, KeyError) as error:
        warnings.warn(
            f"Numba's cache cannot hold LLVM options, because this Numba is not as expected ({error}); leave "
            "out cache=True for functions that are compiled inside scopes",
            NumbaOptionsWarning,
            stacklevel=2,
        )
