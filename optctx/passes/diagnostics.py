"""What LLVM says about the code it compiles: errors are raised in Python instead of ending the process.

With no handler set, LLVM prints a diagnostic on standard error and calls `exit(1)` if it is an error, for
instance inline assembly that does not assemble.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import c_void_p

from optctx.errors import OptctxError
from optctx.passes.native_api import NativeApi

__all__ = ["errors_raised"]

# LLVMDiagnosticSeverity, and the words that LLVM itself puts before the message
_PREFIXES = ("error", "warning", "remark", "note")
_ERROR = 0

_Handler = ctypes.CFUNCTYPE(None, c_void_p, c_void_p)


@contextmanager
def errors_raised(api: NativeApi, context: int) -> Iterator[None]:
    """Collect the errors of an LLVMContext, by address, and raise OptctxError with all of them at the end.

    Warnings and remarks go to standard error as ever, filtered by this thread's options. A context whose
    user has set a handler keeps it, and nothing is collected. The caller has sole use of the context.
    """
    if api.diagnostic_handler(context):
        yield
        return
    errors: list[str] = []

    def handle(diagnostic: int, _: int) -> None:
        message = _description(api, diagnostic)
        severity = api.diagnostic_severity(diagnostic)
        if severity == _ERROR:
            errors.append(" ".join(message.split()))
        else:
            os.write(2, f"{_PREFIXES[severity]}: {message}\n".encode())

    handler = _Handler(handle)  # alive, like `handle`, until the context has forgotten it
    code = c_void_p.from_address(ctypes.addressof(handler))  # `ctypes.cast` would leave a reference cycle
    api.set_diagnostic_handler(context, code, None, True)
    try:
        yield
    finally:
        api.set_diagnostic_handler(context, None, None, False)
    if errors:
        raise OptctxError("LLVM refuses the module: " + "; ".join(errors))


def _description(api: NativeApi, diagnostic: int) -> str:
    text = api.diagnostic_description(diagnostic)
    try:
        return ctypes.string_at(text).decode(errors="replace")
    finally:
        api.dispose_message(text)
