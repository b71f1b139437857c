"""llvmlite as a host: its library, its objects, its calls, and the order in which it frees."""

from typing import TYPE_CHECKING

from optctx.hosts.llvmlite.llvmlite_host import llvmlite_image
from optctx.hosts.llvmlite.objects import llvm_context_address
from optctx.lazy import later

if TYPE_CHECKING:
    from optctx.hosts.llvmlite.compiling import (
        emit_assembly,
        emit_object,
        instruction_count,
        native_api,
        run_passes,
    )

__all__ = [
    "emit_assembly",
    "emit_object",
    "instruction_count",
    "llvm_context_address",
    "llvmlite_image",
    "native_api",
    "run_passes",
]

if not TYPE_CHECKING:  # importing optctx takes no time for it
    _NAMES = ("emit_assembly", "emit_object", "instruction_count", "native_api", "run_passes")
    __getattr__, __dir__ = later(__name__, {"optctx.hosts.llvmlite.compiling": _NAMES})
