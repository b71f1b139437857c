"""llvmlite as a host: where its LLVM is, which releases are refused, and what is hooked into llvmlite.

No layout is derived from a version: every release that is not refused by it has to prove its own.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any

from optctx._native import loaded_libraries
from optctx.engine.host import DefaultHost
from optctx.errors import UnsupportedImageError
from optctx.hosts.llvmlite.ffi_calls import binding, function_names, llvmlite_lock
from optctx.hosts.llvmlite.objects import llvm_context_address, module_address
from optctx.image.facts.interceptions import Interception
from optctx.image.loaded import Image, open_image
from optctx.tasks.problems import raise_problems

# Its functions that emit, compile, make a data layout, or set options: those that run LLVM, beside managers.
_RUNS_LLVM = (
    "LLVMPY_SetCommandLine",
    "LLVMPY_TargetMachineEmitToMemory",
    "LLVMPY_CreateTargetMachineData",
    "LLVMPY_FinalizeObject",
    "LLVMPY_GetFunctionAddress",
    "LLVMPY_GetGlobalValueAddress",
    "LLVMPY_RunStaticConstructors",
    "LLVMPY_RunStaticDestructors",
    "LLVMPY_LLJIT_Link",
    "LLVMPY_LLJITLookup",
)


_EARLIEST_LLVM = 20  # an earlier one has other functions, and lists that are laid out otherwise
_FIRST, _LAST = (0, 45), (0, 50)  # releases of llvmlite that were tried
_NEEDED = "optctx needs llvmlite 0.45 to 0.50, which Numba 0.62 to 0.68 require"
INSTALL = "pip install 'llvmlite>=0.45,<0.51'"
_INSTALL_NUMBA = "pip install 'numba>=0.62,<0.69'"


def _release() -> str:
    """Name the installed release, such as "llvmlite 0.50.0 (LLVM 22.1)"."""
    import llvmlite
    from llvmlite import binding

    llvm = ".".join(map(str, binding.llvm_version_info[:2]))
    return f"llvmlite {llvmlite.__version__} (LLVM {llvm})"


def _advice() -> str:
    """Say what optctx needs, and the command that installs it."""
    command = _INSTALL_NUMBA if importlib.util.find_spec("numba") else INSTALL
    return f"{_NEEDED}. Run: {command}"


@functools.cache
def llvmlite_image() -> Image:
    """Return the library that llvmlite has loaded, with its symbols; load llvmlite if need be.

    Lives as long as the process. Raises UnsupportedImageError if there is no llvmlite or an old one, or if
    its library has no symbol table or is not the file on disk.
    """
    path = _library_path()
    real = os.path.realpath(path)
    for candidate, base in loaded_libraries():
        if os.path.realpath(candidate) == real:
            return open_image(candidate, base)
    raise UnsupportedImageError(
        f"looked for llvmlite's library among the loaded ones: expected {path}, found no such mapping; "
        "was the file replaced after it was loaded?"
    )


def _library_path() -> str:
    try:
        from llvmlite import binding
    except (ImportError, OSError) as error:
        raise UnsupportedImageError(
            f"no LLVM in this process: importing llvmlite failed ({error}); install llvmlite with: {INSTALL}"
        ) from error
    if binding.llvm_version_info[0] < _EARLIEST_LLVM:
        raise UnsupportedImageError(f"{_release()} is not supported: {_advice()}")
    return str(binding.ffi.lib._name)


def _returns(result: Any, *_: object) -> Any:
    """Raise the problems that LLVM's work has left, as a call that has run LLVM returns."""
    raise_problems(LLVMLITE.package)
    return result


class _Llvmlite(DefaultHost):
    package = "llvmlite"
    reports_calls = True
    setter = "llvmlite.binding.set_option('', '-{}=...')"
    between = frozenset({package, "numba"})
    image = staticmethod(llvmlite_image)
    llvm_context_address = staticmethod(llvm_context_address)
    module_address = staticmethod(module_address)
    lock = staticmethod(llvmlite_lock)

    def has(self, image: Image) -> bool:
        if "llvmlite.binding.ffi" not in sys.modules:
            return False
        try:
            return image.base == llvmlite_image().base
        except UnsupportedImageError:
            return False

    def refusal(self, reason: UnsupportedImageError) -> str:
        import llvmlite

        numbers = tuple(int(number) for number in re.findall(r"\d+", llvmlite.__version__)[:2])
        if _FIRST <= numbers <= _LAST:
            return f"{_release()} cannot be used, nothing was changed: {reason}"
        return f"{_release()} is not supported ({reason}): {_advice()}"

    def interceptions(self) -> Sequence[Interception]:
        from optctx.hosts.llvmlite import lljit  # importing optctx takes a twentieth less time

        return lljit.INTERCEPTIONS

    def attaching(self) -> None:
        from optctx.hosts.llvmlite import lljit, manager_runs  # importing optctx takes a twentieth less time
        from optctx.hosts.llvmlite.recipes import RUNS_MANAGER

        for name in (*_RUNS_LLVM, *(RUNS_MANAGER.keys() & function_names())):
            getattr(binding().ffi.lib, name)._cfn.errcheck = _returns
        lljit.arm()
        manager_runs.arm()

    def follow_calls(self, begin_and_end: tuple[Callable[[], None], Callable[[], None]]) -> None:
        lock = llvmlite_lock()
        if begin_and_end not in lock._cblist:
            lock._cblist.append(begin_and_end)


LLVMLITE = _Llvmlite()
