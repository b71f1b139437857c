"""Loads the native module in its own place. Where optctx cannot run, importing it fails with one sentence.

The native module lies in the folder `lib`, where no import looks, so every `import optctx._native` comes here
first, and gets the native module. Pythons that are too old must be able to parse this file.

LLVM, its redirected code and the types of the native module belong to the process. A second interpreter that
loads the native module replaces the types that the main interpreter works with, so it is refused before.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import platform
import signal
import sys

_NEEDED = "optctx needs CPython 3.11 or later on 64-bit Linux on x86-64 (AMD64)"
_AGAIN = "install optctx again, with this Python"
_OWN = vars(sys.modules["optctx"])
_PACKAGE = os.path.dirname(os.path.abspath(__file__))


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
    """Load the native module, once. Raises ImportError, which says what to do."""
    folders = [os.path.join(package, "lib") for package in _OWN["__path__"]]  # two, of an editable install
    found = importlib.machinery.PathFinder.find_spec("_native", folders)
    spec = found and importlib.util.spec_from_file_location(__name__, found.origin)
    if spec is None or spec.loader is None:
        raise ImportError(_absent())
    # Keep this thread's signals until the end: what a handler raises ends the process while types are made.
    # Another thread may still take them. Signals for faults of the code itself are not kept.
    own = {signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGTRAP}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals() - own)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        _OWN["_loaded"] = module  # for the next import, if a signal ends this one as soon as it may
    except ImportError as error:
        if error.path is None:  # the module itself refuses, and says why
            raise
        raise ImportError(f"optctx's native module cannot be loaded: {error}; {_AGAIN}") from error
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _absent() -> str:
    """Say why there is no native module, and what to do."""
    source = os.path.dirname(_PACKAGE)
    if os.path.exists(os.path.join(source, "CMakeLists.txt")):
        return (
            f"optctx is imported from its source folder {source}, where its native module is not built; "
            "run `pip install -e .` there, or start Python in another folder or with `python -P`"
        )
    folder = os.path.join(_PACKAGE, "lib")
    names = os.listdir(folder) if os.path.isdir(folder) else []
    if built := sorted(name for name in names if name.startswith("_native.")):
        return f"optctx in {_PACKAGE} is built for another Python ({', '.join(built)}); {_AGAIN}"
    return f"optctx in {_PACKAGE} has no native module; {_AGAIN}"


if "_loaded" not in _OWN:
    _check_platform()
    if not _is_main():
        raise ImportError(
            "optctx cannot be used in a subinterpreter, because LLVM's options belong to the whole process; "
            "use it in the main interpreter (mod_wsgi: WSGIApplicationGroup %{GLOBAL}) or in another process"
        )
    _load()
sys.modules[__name__] = _OWN["_loaded"]
