"""Refuse to be imported in a subinterpreter, before anything native is loaded.

LLVM, its redirected code and the types of the native module belong to the process. A second interpreter that
loads the native module replaces the types that the main interpreter works with.
"""

from __future__ import annotations

import ctypes

__all__: list[str] = []


def _is_main() -> bool:
    """Whether the running interpreter is the one that the process began with, whose number is 0."""
    current = ctypes.PYFUNCTYPE(ctypes.c_void_p)(("PyInterpreterState_Get", ctypes.pythonapi))
    number = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(
        ("PyInterpreterState_GetID", ctypes.pythonapi)
    )
    return bool(number(current()) == 0)


if not _is_main():
    raise ImportError(
        "optctx cannot be imported in a subinterpreter, because LLVM's options belong to the whole process; "
        "import it in the main interpreter (mod_wsgi: WSGIApplicationGroup %{GLOBAL}) or in another process"
    )
