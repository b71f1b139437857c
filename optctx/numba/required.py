"""Checks that Numba has the release and the internal names that this package needs.

Numba guarantees little of what a separate target needs. Everything is looked up here, once, so the first use
of `optctx.numba` fails with the names that are missing if Numba has changed.
"""

from __future__ import annotations

import importlib
import inspect
import operator
import re
from typing import Any

_OLDEST = (0, 62)
_REMEDY = "install a Numba that optctx.numba knows (0.62 or newer), or use scopes around plain Numba"

# Module -> names in it; a name with a dot is an attribute of a class.
_NAMES = {
    "numba.core.caching": (
        "FunctionCache._index_key",
        "FunctionCache._load_overload",
        "FunctionCache._save_overload",
        "CompileResultCacheImpl.check_cachable",
        "CompileResultCacheImpl.get_filename_base",
    ),
    "numba.core.codegen": (
        "CPUCodeLibrary._disable_inspection",
        "CPUCodeLibrary._finalize_final_module",
        "CPUCodeLibrary._get_module_for_linking",
        "CPUCodeLibrary._unserialize",
        "CPUCodeLibrary.add_ir_module",
        "CPUCodeLibrary.add_linking_library",
        "CPUCodeLibrary.add_llvm_module",
        "CPUCodeLibrary.finalize",
        "CPUCodeLibrary.get_asm_str",
        "CPUCodeLibrary.serialize_using_object_code",
        "JITCodeLibrary.get_pointer_to_function",
    ),
    "numba.core.cpu": ("CPUContext.init", "CPUTargetOptions"),
    "numba.core.descriptors": ("TargetDescriptor",),
    "numba.core.externals": ("c_math_functions",),
    "numba.core.registry": (
        "CPUDispatcher.add_overload",
        "CPUDispatcher.get_call_template",
        "CPUDispatcher._make_finalizer",
        "cpu_target",
    ),
    "numba.core.runtime": ("rtsys.initialize",),
    "numba.core.runtime.nrtdynmod": ("compile_nrt_functions",),
    "numba.core.target_extension": (
        "CPU",
        "current_target",
        "dispatcher_registry",
        "jit_registry",
        "target_override",
        "target_registry",
    ),
    "numba.core.types": ("Dispatcher", "Function", "Generator"),
    "numba.core.typing": ("Context._insert_global", "Context.resolve_value_type"),
    "numba.core.typing.templates": ("_OverloadFunctionTemplate",),
    "numba.np.ufunc.dufunc": ("DUFunc._initialize", "DUFunc._compile_for_argtys"),
    "numba.np.ufunc.ufuncbuilder": ("UFuncDispatcher._compile_core", "UFuncTargetOptions"),
}
# Functions that are overridden or called, with the parameters that they must have.
_PARAMETERS = {
    ("numba.core.cpu", "CPUContext.__init__"): ("self", "typingctx", "target"),
    ("numba.core.codegen", "CPUCodeLibrary.__init__"): ("self", "codegen", "name"),
    ("numba.core.base", "BaseContext.get_function"): ("self", "fn", "sig", "_firstcall"),
    ("numba.core.base", "BaseContext.insert_user_function"): ("self", "func", "fndesc", "libs"),
}


def _check() -> None:
    """Raise ImportError if Numba is missing, too old, or not as expected."""
    try:
        numba = importlib.import_module("numba")
        if numba.__file__ is None:
            raise ImportError(f"{[*numba.__path__]} is a folder without modules of it")
    except ImportError as error:
        raise ImportError(
            f"optctx.numba needs Numba, which cannot be imported ({error}); install it: pip install numba"
        ) from error
    found = tuple(map(int, re.findall(r"\d+", numba.__version__)[:2]))
    if found < _OLDEST:
        raise ImportError(f"optctx.numba does not work with Numba {numba.__version__}; {_REMEDY}")
    wanted = [(module, name) for module, names in _NAMES.items() for name in names]
    lost = [f"{module}.{name}" for module, name in (*wanted, *_PARAMETERS) if _get(module, name) is None]
    if lost:
        raise ImportError(f"Numba {numba.__version__} has no {', '.join(lost)}; {_REMEDY}")
    for (module, name), parameters in _PARAMETERS.items():
        given = tuple(inspect.signature(_get(module, name)).parameters)
        if given != parameters:
            raise ImportError(
                f"Numba {numba.__version__} has {module}.{name}({', '.join(given)}), expected "
                f"({', '.join(parameters)}); {_REMEDY}"
            )


def _get(module: str, name: str) -> Any:
    """Return an attribute of a module, or of a class in it; None if there is none."""
    try:
        return operator.attrgetter(name)(importlib.import_module(module))
    except (ImportError, AttributeError):
        return None


_check()
