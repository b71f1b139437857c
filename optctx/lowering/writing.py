"""`lower` writes options into a module, where LLVM has an exact equivalent for them."""

from __future__ import annotations

import re
from typing import Final

from optctx.context import OptionContext
from optctx.errors import OptctxError, OptionTypeError, shown
from optctx.image.loaded import Image
from optctx.lowering.table import EQUIVALENTS, NOT_EXACT, Equivalent
from optctx.travelling.module_attributes import (
    Change,
    FunctionAttribute,
    apply_changes,
    read_attributes,
    triple_of,
)
from optctx.travelling.stamps import called, module_label
from optctx.values.read_values import Value

__all__ = ["lower"]

_NONE = "nothing in a module says the same"
_DRIFTED = "it is set for the whole process, too, which would count again"
_PLAIN: Final = re.compile(rb"0|[1-9][0-9]{0,8}")  # what every reader of a number takes as the same number
_SHOWN = 5  # options that a message lists


def lower(ctx: OptionContext, module: object, *, strict: bool = False) -> OptionContext:
    """Write options of a context into a module, as attributes of its functions and flags; return the rest.

    Only options are written for which LLVM has an exact equivalent: compiled under the returned context, the
    module gives the output that it gave under `ctx`, with any passes. If the returned context changes nothing
    (`not rest.overrides`), LLVM needs no option any more, in optctx or out of it. Where the module says
    something already, what LLVM would take is kept: for most options the attribute, for a few the option. Set
    the module's triple first. Functions that are added later, by linking or by passes that make some from
    nothing, such as the constructors of sanitizers, do not have the attributes.

    Reaches only the module. During the call, no other thread may use its LLVMContext except through llvmlite.

    Args:
        ctx: The options. Unchanged.
        module: A module of the context's LLVM, as in `OptionContext.from_module`. Changed in place.
        strict: Raise an error if an option stays.

    Returns: A context with the other options. `ctx` itself, if nothing was lowered.

    Raises:
        TypeError: `module` is not a module.
        OptionTypeError: `ctx` is not an OptionContext.
        OptctxError: The module is closed, or with `strict` an option stays; the message says why.
        UnsupportedImageError: The library lacks a function that this needs.

    On each error the module is unchanged. An exception that interrupts the call, such as KeyboardInterrupt,
    leaves it unchanged or with all options written.
    """
    if not isinstance(ctx, OptionContext):
        raise OptionTypeError(f"the options to lower are an OptionContext, found {shown(ctx)}")
    layers = ctx._layers
    image = layers.engine.image
    triple = triple_of(image, module)
    drifted = {option.name for option, _ in layers.engine.drifted(layers.drift)}
    changes: dict[str, Change | None] = {}
    stays: dict[str, str] = {}
    for name in sorted(layers.names()):
        found = _DRIFTED if name in drifted else _change(image, module, triple, name, layers.look_up(name))
        if isinstance(found, str):
            stays[name] = found
        else:
            changes[name] = found
    if strict and stays:
        words = [f"{name!r} ({reason})" for name, reason in stays.items()]
        more = f" and {len(words) - _SHOWN} more" if len(words) > _SHOWN else ""
        raise OptctxError(
            f"cannot write all options into {called(module_label(image, module))}: "
            f"{', '.join(words[:_SHOWN])}{more}; call lower without strict, and compile under the context "
            "that it returns"
        )
    rest = ctx._without(changes) if changes else ctx  # first: what fails changes nothing
    apply_changes(image, module, [change for change in changes.values() if change is not None])
    return rest


def _change(image: Image, module: object, triple: str, name: str, value: Value) -> Change | str | None:
    """Return the change of the module that says what an option says, or why there is none."""
    row = EQUIVALENTS.get(name)
    if row is None:
        return NOT_EXACT.get(name, _NONE)
    if row.architectures and not triple.startswith(row.architectures):
        known = " and ".join(row.architectures)
        return f"the attribute says the same for {known} alone, and the module's triple is {shown(triple)}"
    if isinstance(value, int) and value > row.most:
        return f"a module says at most {row.most:,}, and it is {value:,}"
    change = row.make(value)
    if isinstance(change, FunctionAttribute) and (bad := _unclear(image, module, row, change)):
        return bad
    return change


def _unclear(image: Image, module: object, row: Equivalent, change: FunctionAttribute) -> str:
    """Say which attribute that stays would not be read as the number that it says; empty if none."""
    if not row.number:
        return ""
    bad = [each for each in read_attributes(image, module, change.name) if not _PLAIN.fullmatch(each)]
    if not bad:
        return ""
    found = shown(min(bad).decode(errors="backslashreplace"))
    return f"a function has {change.name}={found}, and expected was a number in plain digits"
