"""Fails to import, with one sentence, where optctx cannot run, before native code is loaded.

LLVM, its redirected code and the types of the native module belong to the process. A second interpreter that
loads the native module replaces the types that the main interpreter works with.
"""

from __future__ import annotations

import platform
import sys

__all__: list[str] = []

_NEEDED = "optctx needs CPython 3.10 or later on 64-bit Linux on x86-64 (AMD64)"


def _check_platform() -> None:
    python = f"{platform.python_implementation()} {platform.python_version()}"
    if sys.implementation.name != "cpython" or sys.version_info < (3, 10):
        raise ImportError(f"{_NEEDED}; this is {python}")
    bits = 64 if sys.maxsize > 1 << 32 else 32
    machine = platform.machine()
    if not sys.platform.startswith("linux") or machine != "x86_64" or bits != 64:
        raise ImportError(f"{_NEEDED}; this is {platform.system()} on {machine}, with a {bits}-bit {python}")


def _is_main() -> bool:
    """Tell whether this is the main interpreter, whose number is 0."""
    try:
        import ctypes
    except ModuleNotFoundError:  # a Python without it
        raise
    except ImportError:  # Python 3.12 does not load it in a subinterpreter
        return False
    current = ctypes.PYFUNCTYPE(ctypes.c_void_p)(("PyInterpreterState_Get", ctypes.pythonapi))
    number = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(
        ("PyInterpreterState_GetID", ctypes.pythonapi)
    )
    return bool(number(current()) == 0)


_check_platform()
if not _is_main():
    raise ImportError(
        "optctx cannot be imported in a subinterpreter, because LLVM's options belong to the whole process; "
        "import it in the main interpreter (mod_wsgi: WSGIApplicationGroup %{GLOBAL}) or in another process"
    )
