"""Numba's decorators, with LLVM options for the functions that they compile.

    import optctx.numba

    @optctx.numba.njit(options={"unroll-count": 4})
    def total(array): ...  # compiled under -unroll-count=4 wherever it is first called, with what it calls

Needs Numba 0.62 or newer. Import it separately: `import optctx` does not import it. It replaces nothing in
Numba: functions that plain Numba decorates compile as before.
"""

from optctx.context.inputs import use_decorator
from optctx.numba import required  # noqa: F401  # refuse what cannot work  # isort: split
from optctx.numba.decorators import apply_context, cfunc, jit, njit
from optctx.numba.ufuncs import guvectorize, vectorize

__all__ = ["cfunc", "guvectorize", "jit", "njit", "vectorize"]

use_decorator(apply_context)
