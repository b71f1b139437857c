"""llvmlite as a host: its library, its objects, its calls, and the order in which it frees."""

from typing import TYPE_CHECKING

from optctx.hosts.llvmlite.llvmlite_host import llvmlite_image
from optctx.hosts.llvmlite.objects import llvm_context_address

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

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Import a name of `compiling` on first use, so that importing optctx takes no time for it."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from optctx.hosts.llvmlite import compiling

        return globals().setdefault(name, getattr(compiling, name))

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
