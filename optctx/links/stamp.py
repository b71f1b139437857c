"""`stamp`: write into a module the options that it was compiled with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from optctx.context import OptionContext
from optctx.context.stamps import write_stamp
from optctx.engine.attach import attach
from optctx.errors import OptionTypeError, shown

if TYPE_CHECKING:
    from llvmlite.binding import ModuleRef

__all__ = ["stamp"]


def stamp(module: ModuleRef, ctx: OptionContext) -> None:
    """Write the options of a context into a module, for `OptionContext.from_module` and `check_link`.

    The named metadata `!optctx.options` holds, as command-line text, every option in which the context
    differs from what LLVM registered. Bitcode, textual IR, LLVM's linker and its passes preserve it, and it
    changes no code. A context without changes leaves a stamp as well. The stamp replaces all earlier stamps
    of the module.

    Reaches only the module. During the call, no other thread may use its LLVMContext except through llvmlite.

    Raises:
        TypeError: `module` is not a module.
        OptctxError: The module is closed.
        OptionTypeError: `ctx` is not an OptionContext.
        OptionValueError: The context inherits a process-wide value without a text form.
        UnsupportedImageError: The library lacks a function that this needs. On each error the module is
            unchanged.
    """
    if not isinstance(ctx, OptionContext):
        raise OptionTypeError(f"a module is stamped with an OptionContext, found {shown(ctx)}")
    write_stamp(module, ctx._contents.flat(attach()))
