"""Numba's decorators, with LLVM options for the functions that they compile.

    import optctx.numba

    @optctx.numba.njit(options={"unroll-count": 4})
    def total(array): ...  # compiled under -unroll-count=4 wherever it is first called, with what it calls

Needs Numba 0.62 or newer, which the first use of a name imports. Import it separately: `import optctx` does
not. Functions that plain Numba decorates compile as before.
"""

from typing import TYPE_CHECKING

from optctx.importing import later

if TYPE_CHECKING:
    from optctx.numba.decorators import jit, njit

__all__ = ["jit", "njit"]

if not TYPE_CHECKING:  # on demand, because Numba imports this package in each process that compiles
    __getattr__, __dir__ = later(__name__, {"optctx.numba.decorators": ("jit", "njit")})
