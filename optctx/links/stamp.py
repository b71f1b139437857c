"""`stamp`: writes into a module what it was compiled with."""

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
    """Writes the options of a context into a module, for `OptionContext.from_module` and `check_link`.

    Everything in which the context differs from what LLVM registered, as command-line text, in the named
    metadata `!optctx.options`: bitcode, text, LLVM's linker and its passes keep it, and it changes no code. A
    context that changes nothing leaves a stamp too. A module that has stamps, one or (linked) several, has
    only this one then. Reaches nothing but the module, whose LLVMContext no other thread may use meanwhile
    except through llvmlite.

    Raises TypeError for what is no module, OptctxError for a closed one, OptionTypeError for what is no
    context, OptionValueError for a context that inherits a process-wide value without a text form,
    UnsupportedImageError if the library lacks what is needed; the module is unchanged then.
    """
    if not isinstance(ctx, OptionContext):
        raise OptionTypeError(f"a module is stamped with an OptionContext, found {shown(ctx)}")
    write_stamp(module, ctx._contents.flat(attach()))
