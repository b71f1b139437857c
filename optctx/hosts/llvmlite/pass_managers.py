"""llvmlite's functions that make, change, run and end pass managers and pass builders, and their arguments.

From llvmlite's sources (ffi/newpassmanagers.cpp; ffi/passmanagers.cpp and ffi/transforms.cpp of 0.44).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from typing import Final, NamedTuple

from optctx._native import Subject

__all__ = ["CHANGES", "MAKES", "RUNS_MANAGER", "Argument", "Made", "ManagerRun", "changed_arguments"]


class Argument(Enum):
    """What an argument of such a function is."""

    PLAIN = "a number, a text, a module"
    CHANGED = "the object that the call changes"
    MADE = "another object that was made by such calls"
    TUNING = "a PipelineTuningOptions"
    MACHINE = "a target machine, or null"


class Made(NamedTuple):
    """A function that makes an object: what the object is called, what ends it, the arguments."""

    what: str
    disposer: str
    arguments: tuple[Argument, ...] = ()


class ManagerRun(NamedTuple):
    """A function that runs a pass manager: what its argument 1 is, and which others were made."""

    subject: Subject
    made: Mapping[int, str]


_MODULE_MANAGER = ("module pass manager", "LLVMPY_DisposeNewModulePassManger")  # the library's own spelling
_FUNCTION_MANAGER = ("function pass manager", "LLVMPY_DisposeNewFunctionPassManger")
_BUILT = (Argument.MADE, Argument.PLAIN)
_OLD = ("pass manager", "LLVMPY_DisposePassManager")

MAKES: Final = {
    "LLVMPY_CreatePipelineTuningOptions": Made("tuning options", "LLVMPY_DisposePipelineTuningOptions"),
    "LLVMPY_CreatePassBuilder": Made(
        "pass builder", "LLVMPY_DisposePassBuilder", (Argument.MACHINE, Argument.TUNING)
    ),
    "LLVMPY_CreateNewModulePassManager": Made(*_MODULE_MANAGER),
    "LLVMPY_CreateNewFunctionPassManager": Made(*_FUNCTION_MANAGER),
    "LLVMPY_buildPerModuleDefaultPipeline": Made(*_MODULE_MANAGER, _BUILT),
    "LLVMPY_buildFunctionSimplificationPipeline": Made(*_FUNCTION_MANAGER, _BUILT),
    # llvmlite 0.44
    "LLVMPY_CreatePassManager": Made(*_OLD),
    "LLVMPY_CreateFunctionPassManager": Made(*_OLD, (Argument.PLAIN,)),
    "LLVMPY_PassManagerBuilderCreate": Made("pass manager builder", "LLVMPY_PassManagerBuilderDispose"),
}

# What adds a pass, or sets what passes are made of. Initialising a function pass manager is part of it.
CHANGES: Final = re.compile(
    r"LLVMPY_((module|function)_Add\w+|Add\w+(Pass|Passes|Pass_module|Pass_function)|EnableTimePasses"
    r"|PassManagerBuilder(Set|Use|Populate)\w+|InitializeFunctionPassManager)"
)
_CHANGED_SECOND = {
    "LLVMPY_AddAnalysisPasses": Argument.MACHINE,
    "LLVMPY_PassManagerBuilderPopulateModulePassManager": Argument.MADE,
    "LLVMPY_PassManagerBuilderPopulateFunctionPassManager": Argument.MADE,
}

_OLD_MODULE_RUN = ManagerRun(Subject.module, {0: _OLD[0]})
_OLD_FUNCTION_RUN = ManagerRun(Subject.function, {0: _OLD[0]})
RUNS_MANAGER: Final = {
    "LLVMPY_RunNewModulePassManager": ManagerRun(Subject.module, {0: _MODULE_MANAGER[0], 2: "pass builder"}),
    "LLVMPY_RunNewFunctionPassManager": ManagerRun(
        Subject.function, {0: _FUNCTION_MANAGER[0], 2: "pass builder"}
    ),
    # llvmlite 0.44
    "LLVMPY_RunPassManager": _OLD_MODULE_RUN,
    "LLVMPY_RunPassManagerWithRemarks": _OLD_MODULE_RUN,
    "LLVMPY_RunFunctionPassManager": _OLD_FUNCTION_RUN,
    "LLVMPY_RunFunctionPassManagerWithRemarks": _OLD_FUNCTION_RUN,
}


def changed_arguments(name: str, count: int) -> tuple[Argument, ...]:
    """Return what the arguments of a function are that changes an object."""
    first = _CHANGED_SECOND.get(name)
    if first is not None:
        return first, Argument.CHANGED
    return Argument.CHANGED, *(Argument.PLAIN,) * (count - 1)
