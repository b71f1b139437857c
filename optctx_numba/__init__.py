"""What Numba calls in each process that compiles (its entry point for extensions, `numba_extensions`).

Apart from optctx, because importing that takes a tenth of a second. A process that has not imported optctx
stays as it is, and one that imports it later is told by optctx itself, when it attaches.
"""

import sys

__all__ = ["init"]


def init() -> None:
    """Have Numba's own cache keep scopes apart, if this process uses optctx."""
    begins = getattr(sys.modules.get("optctx"), "_numba_begins", None)
    if begins is not None:  # else optctx is not imported, or not to its end
        begins()
