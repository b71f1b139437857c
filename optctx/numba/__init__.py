"""Numba's decorators, with LLVM options for the functions that they compile.

    import optctx.numba

    @optctx.numba.njit(options={"unroll-count": 4})
    def total(array): ...  # compiled under -unroll-count=4 wherever it is first called, with what it calls

Needs Numba 0.62 or newer. Import it separately: `import optctx` does not import it. It replaces nothing in
Numba: functions that plain Numba decorates compile as before.
"""

from optctx.context.inputs import use_decorator
from optctx.numba import (
    required,  # noqa: F401  # refuse what cannot work  # isort: split
    ufuncs,  # noqa: F401  # what stands for universal functions
)
from optctx.numba.decorators import apply_context, jit, njit

__all__ = ["jit", "njit"]

use_decorator(apply_context)
