"""What a program has set in llvmlite's PipelineTuningOptions.

LLVM reads options while it makes a PipelineTuningOptions and keeps what it read. The fields that llvmlite can
set have defaults that depend on no option, so a field with another value was set by the program. An object
that is made under other values gets the same settings.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from optctx.hosts.llvmlite.ffi_calls import code_address, function, function_names
from optctx.hosts.llvmlite.objects import tuning_address

_FIELDS = ("LoopInterleaving", "LoopVectorization", "SLPVectorization", "LoopUnrolling", "InlinerThreshold")

Settings = tuple[tuple[str, int], ...]


def settings_of(tuning: Any) -> Settings:
    """List (field, value) for each field that the program has set to another value than LLVM does.

    `tuning`: an object of llvmlite's, or its pointer.
    """
    return tuple(
        (field, get(tuning)) for field, (get, default) in _fields().items() if get(tuning) != default
    )


def apply_settings(pointer: Any, settings: Settings) -> None:
    """Set these fields in the object behind a pointer of ctypes'."""
    for field, value in settings:
        function(f"LLVMPY_PTOSet{field}")(pointer, value)


def setters_of(tuning: object) -> list[tuple[int, int]]:
    """List (address of the function that sets the field, value) for each setting.

    Raises TypeError for what is not a PipelineTuningOptions of llvmlite's, and OptctxError for a closed one.
    """
    tuning_address(tuning)
    settings = settings_of(tuning)
    return [(code_address(function(f"LLVMPY_PTOSet{field}")), int(value)) for field, value in settings]


@cache
def _fields() -> dict[str, tuple[Callable[[Any], int], int]]:
    """Return the fields that this llvmlite has: name -> (function that returns it, its default)."""
    names = set(function_names())
    getters = {
        field: function(f"LLVMPY_PTOGet{field}") for field in _FIELDS if f"LLVMPY_PTOGet{field}" in names
    }
    new = function("LLVMPY_CreatePipelineTuningOptions")()
    try:
        return {field: (get, get(new)) for field, get in getters.items()}
    finally:
        function("LLVMPY_DisposePipelineTuningOptions")(new)
