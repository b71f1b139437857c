"""Loads the native module, unless optctx cannot run here: then the import fails with one sentence.

Pythons that are too old must be able to parse this file.

LLVM, its redirected code and the types of the native module belong to the process. A second interpreter that
loads the native module replaces the types that the main interpreter works with, so it is refused before.

A source folder has optctx without its native module, and Python started in it imports that optctx before an
installed copy. If both have the same Python code, the native module of the installed copy is used.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import platform
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_NEEDED = "optctx needs CPython 3.11 or later on 64-bit Linux on x86-64 (AMD64)"
_NAME = "optctx._native"
_AGAIN = "install optctx again, with this Python"
_PACKAGE = os.path.dirname(os.path.abspath(__file__))
_PARENT = os.path.dirname(_PACKAGE)


def _check_platform() -> None:
    python = f"{platform.python_implementation()} {platform.python_version()}"
    if sys.implementation.name != "cpython" or sys.version_info < (3, 11):
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


def _load() -> None:
    """Import the native module. Raises ImportError, which says what to do."""
    if importlib.util.find_spec(_NAME) is None:
        copy = next(_installed(), None)
        if copy is None or not _is_source() or not _is_same(copy):
            raise ImportError(_absent(copy))
        sys.modules[__package__].__path__.append(copy)
    try:
        with _no_signals():
            importlib.import_module(_NAME)
    except ImportError as error:
        if error.path is None:  # the module itself refuses, and says why
            raise
        raise ImportError(f"optctx's native module cannot be loaded: {error}; {_AGAIN}") from error


@contextmanager
def _no_signals() -> Iterator[None]:
    """Keep this thread's signals until the end: what a handler raises ends the process while types are made.

    Another thread may still take them. Signals for faults of the code itself are not kept.
    """
    own = {signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGTRAP}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals() - own)
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _is_source() -> bool:
    return os.path.exists(os.path.join(_PARENT, "CMakeLists.txt"))


def _absent(copy: str | None) -> str:
    """Say why there is no native module, and what to do. `copy`: the folder of an installed copy, if any."""
    if _is_source():
        source = f"optctx is imported from its source folder {_PARENT}, where its native module is not built"
        if copy is None:
            advice = "run `pip install .` there and start Python in another folder, or run `pip install -e .`"
            return f"{source}; {advice}"
        return (
            f"{source}, and the copy that is installed in {os.path.dirname(copy)} has other code; "
            f"run `pip install .` again, or start Python in another folder or with `python -P`"
        )
    built = _built(_PACKAGE)
    if built:
        return f"optctx in {_PACKAGE} is built for another Python ({', '.join(built)}); {_AGAIN}"
    return f"optctx in {_PACKAGE} has no native module; {_AGAIN}"


def _is_same(copy: str) -> bool:
    """Tell whether the copy has every Python file of this package, byte for byte."""
    import filecmp

    for folder, _, names in os.walk(_PACKAGE):
        other = os.path.join(copy, os.path.relpath(folder, _PACKAGE))
        wanted = [name for name in names if name.endswith(".py")]
        if filecmp.cmpfiles(folder, other, wanted, shallow=False)[0] != wanted:
            return False
    return True


def _built(package: str) -> list[str]:
    """List the files of native modules in a folder of the package, for any Python."""
    try:
        return sorted(
            name for name in os.listdir(package) if name.startswith("_native.") and name[-3:] == ".so"
        )
    except OSError:  # no such folder
        return []


def _installed() -> Iterator[str]:
    """Yield other copies of the package on the path that have a native module."""
    for entry in filter(lambda entry: isinstance(entry, str), sys.path):
        package = os.path.join(os.path.abspath(entry), "optctx")
        if _built(package) and not os.path.samefile(package, _PACKAGE):
            yield package


def get_include() -> str:
    """Return the folder for a C++ compiler's -I, which has `optctx/option_context.hpp`."""
    return os.path.join(_PACKAGE, "include")


def _import_at_once() -> None:
    """Have the imports of optctx run where they stand, even if Python 3.15 was told to delay all of them.

    Some functions have the name of their module, which a delayed import would leave in their place.
    And attaching holds locks, under which nothing is to be imported.
    """
    if sys.version_info < (3, 15) or sys.get_lazy_imports() != "all":
        return
    others = sys.get_lazy_imports_filter()

    def delays(importing: str, imported: str, names: Any) -> bool:
        own = importing == __package__ or importing.startswith(f"{__package__}.")
        return not own and (others is None or others(importing, imported, names))

    sys.set_lazy_imports_filter(delays)


_check_platform()
_import_at_once()
if not _is_main():
    raise ImportError(
        "optctx cannot be imported in a subinterpreter, because LLVM's options belong to the whole process; "
        "import it in the main interpreter (mod_wsgi: WSGIApplicationGroup %{GLOBAL}) or in another process"
    )
_load()
