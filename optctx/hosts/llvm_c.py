"""An LLVM that the program has loaded itself, and calls through LLVM-C or anything else.

Its objects are addresses. Nothing tells optctx of its calls, so they cannot raise what LLVM's work leaves.
"""

from __future__ import annotations

import ctypes

from optctx._native import MisfitError
from optctx.engine.host import Host
from optctx.errors import OptctxError
from optctx.image.memory import follow_pointer

_ADDRESSES = 1 << 64


class _LlvmC(Host):
    def llvm_context_address(self, llvm_context: object) -> int:
        return _address(llvm_context, "an LLVMContext")

    def module_address(self, module: object) -> int:
        return _address(module, "a module")


def _address(thing: object, what: str) -> int:
    """Return where a thing is. LLVMContexts and modules begin with a pointer: what does not is refused."""
    address = _number(thing)
    if address is None:
        found = type(thing)
        raise TypeError(
            f"expected the address of {what} (an int, a ctypes.c_void_p or another pointer of ctypes), found "
            f"{found.__module__}.{found.__qualname__}"
        )
    if not 0 < address < _ADDRESSES:
        raise OptctxError(f"expected the address of {what}, found {address:#x}")
    try:
        follow_pointer(address, what)
    except MisfitError as error:
        raise OptctxError(str(error)) from None
    return address


def _number(thing: object) -> int | None:
    """Return the address in a value of Python's or of ctypes'; None if it can hold none."""
    if isinstance(thing, ctypes.c_void_p):
        return thing.value or 0
    if isinstance(thing, ctypes._Pointer):
        return ctypes.addressof(thing.contents) if thing else 0  # `ctypes.cast` would leave a reference cycle
    return thing if isinstance(thing, int) and not isinstance(thing, bool) else None


LLVM_C = _LlvmC()
