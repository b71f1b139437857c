"""What Numba imports in each process that compiles, as an extension: next to nothing of optctx.

What Numba's own cache (`numba.njit(cache=True)`) needs beside scopes is put into Numba when optctx attaches,
or when Numba calls its extensions, whichever is later. Until then nothing of Numba's is replaced.
"""

import sys
import warnings


def init() -> None:
    """Begin, if this process uses optctx. Numba calls it where it compiles first (`numba_extensions`).

    A process that uses optctx later begins when that attaches.
    """
    if "optctx.assembling" in sys.modules:
        begin()


def begin() -> None:
    """Put it into Numba, if that is as expected; otherwise warn."""
    try:
        from optctx.numba.plain import install

        install()
    except (ImportError, AttributeError, KeyError) as error:
        from optctx.errors import NumbaOptionsWarning

        warnings.warn(
            f"Numba's cache cannot hold LLVM options, because this Numba is not as expected ({error}); leave "
            "out cache=True for functions that are compiled inside scopes",
            NumbaOptionsWarning,
            stacklevel=2,
        )
