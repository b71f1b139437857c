"""A harness held against the function that it describes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from optctx.errors import OptctxError, shown
from optctx.timing.harness import Array, Harness
from optctx.timing.kinds import KINDS
from optctx.wording import counted, did_you_mean, nearest

if TYPE_CHECKING:
    from llvmlite.binding import ModuleRef

__all__ = ["check_signature"]

# Parameters that are not passed as their type says.
_REFUSED = (b"byval", b"sret", b"inalloca", b"preallocated", b"inreg", b"nest", b"swiftself", b"swifterror")


def check_signature(harness: Harness, ir: str | bytes) -> None:
    """Raises OptctxError if the module does not define the entry point so."""
    from llvmlite import binding  # importing optctx works without llvmlite

    with binding.create_context() as context:
        try:
            parse = binding.parse_bitcode if isinstance(ir, bytes) else binding.parse_assembly
            module = parse(ir, context)
        except RuntimeError as error:
            raise OptctxError(f"cannot read the module: {' '.join(str(error).split())}") from None
        with module:
            problem = _problem(harness, module)
    if problem:
        raise OptctxError(f"cannot call {shown(harness.entry)}: {problem}")


def _problem(harness: Harness, module: ModuleRef) -> str:
    defined = {function.name: function for function in module.functions if not function.is_declaration}
    function = defined.get(harness.entry)
    if function is None:
        near = did_you_mean(nearest(harness.entry, defined))
        return f"the module defines no function of that name{'; ' + near if near else ''}"
    if function.linkage.name in ("internal", "private"):
        return "it is internal to its module; make it visible (no `static`)"
    if function.linkage.name == "available_externally":
        return "its code is elsewhere (available_externally)"
    kind = function.global_value_type
    if kind.is_function_vararg:
        return "it takes a variable number of arguments"
    parameters = list(function.arguments)
    if len(parameters) != len(harness.arguments):
        return (
            f"it takes {counted(len(parameters), 'argument')}, and the harness has {len(harness.arguments)}"
        )
    for place, (parameter, argument) in enumerate(zip(parameters, harness.arguments, strict=True), 1):
        expected = "ptr" if isinstance(argument, Array) else KINDS[argument.type].ir
        words = f"argument {place}{_named(parameter)}"
        if (found := str(parameter.type)) != expected:
            given = f"an array of {argument.type}" if isinstance(argument, Array) else argument.type
            return f"{words} is {found} in the module, and {given} in the harness"
        for attribute in parameter.attributes:
            if attribute.startswith(_REFUSED):
                return f"{words} is passed as {attribute.decode()}, which a harness cannot describe"
    expected = "void" if harness.returns is None else KINDS[harness.returns].ir
    if (found := str(kind.get_function_return())) != expected:
        return f"it returns {found}, and the harness says {harness.returns or 'none'}"
    return ""


def _named(parameter: Any) -> str:
    return f" ({parameter.name})" if parameter.name else ""
