"""Refuses to be imported in a subinterpreter, before anything native is loaded.

LLVM, its redirected code and the types of the native module belong to the process. A second interpreter that
loaded them would replace the types that the main one works with.
"""

from __future__ import annotations

import ctypes

__all__: list[str] = []


def _is_main() -> bool:
    """Whether the running interpreter is the one that the process began with: its number is 0."""
    current = ctypes.PYFUNCTYPE(ctypes.c_void_p)(("PyInterpreterState_Get", ctypes.pythonapi))
    number = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(
        ("PyInterpreterState_GetID", ctypes.pythonapi)
    )
    return bool(number(current()) == 0)


if not _is_main():
    raise ImportError(
        "optctx cannot be imported in a subinterpreter: LLVM's options and code belong to the whole process; "
        "import it in the main interpreter, or in a process of its own (mod_wsgi: WSGIApplicationGroup %{GLOBAL})"
    )
