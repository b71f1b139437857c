"""A harness held against the function that it describes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from optctx.errors import OptctxError, clipped, shown
from optctx.lab.timing.harness import Array, Harness
from optctx.lab.timing.kinds import KINDS, Kind
from optctx.toml import quoted
from optctx.wording import counted, did_you_mean, nearest

if TYPE_CHECKING:
    from llvmlite.binding import ModuleRef, ValueRef

__all__ = ["check_signature", "harness_of"]

# Parameters that are not passed as their type says.
_REFUSED = (b"byval", b"sret", b"inalloca", b"preallocated", b"inreg", b"nest", b"swiftself", b"swifterror")

_SHOWN = 8  # parameters that a message lists


def check_signature(harness: Harness, ir: str | bytes) -> None:
    """Raises OptctxError if the module does not define the entry point so."""
    with _read(ir) as module:
        function = _defined(harness.entry, module)
        problem = _problem(harness, function)
    if problem:
        raise _not_called(harness.entry, problem)


def harness_of(entry: str, ir: str | bytes, file: str) -> Harness:
    """The harness of a function that takes nothing: what it returns is as the module says.

    Raises OptctxError for a function with arguments, and names the file that could describe them.
    """
    with _read(ir) as module:
        function = _defined(entry, module)
        parameters = [f"{parameter.type}{_named(parameter)}" for parameter in function.arguments]
        returned = str(function.global_value_type.get_function_return())
        if parameters:
            takes = f"it takes {counted(len(parameters), 'argument')}, {_list(parameters)}"
            raise _not_called(entry, f"{takes}, and no harness says what to pass; {_example(entry, file)}")
        harness = Harness(entry, returns=next(iter(_kinds_of(returned)), None))
        problem = _problem(harness, function)
    if problem:
        raise _not_called(entry, problem)
    return harness


def _example(entry: str, file: str) -> str:
    return (
        f"write into {file}: entry = {quoted(entry)}, and for each argument [[arguments]] with "
        'array = "f64" and shape = [1000], or with value = 1 and type = "i64"'
    )


@contextmanager
def _read(ir: str | bytes) -> Iterator[ModuleRef]:
    from llvmlite import binding  # importing optctx works without llvmlite

    with binding.create_context() as context:
        try:
            parse = binding.parse_bitcode if isinstance(ir, bytes) else binding.parse_assembly
            module = parse(ir, context)
        except RuntimeError as error:
            raise OptctxError(f"cannot read the module: {clipped(' '.join(str(error).split()))}") from None
        with module:
            yield module


def _not_called(entry: str, problem: str) -> OptctxError:
    return OptctxError(f"cannot call {shown(entry)}: {problem}")


def _defined(entry: str, module: ModuleRef) -> ValueRef:
    """The function of that name, which can be called."""
    defined = {function.name: function for function in module.functions if not function.is_declaration}
    function = defined.get(entry)
    if function is None:
        near = did_you_mean(nearest(entry, defined))
        raise _not_called(entry, f"the module defines no function of that name{'; ' + near if near else ''}")
    if function.linkage.name in ("internal", "private"):
        raise _not_called(entry, "it is internal to its module; make it visible (no `static`)")
    if function.linkage.name == "available_externally":
        raise _not_called(entry, "its code is elsewhere (available_externally)")
    if function.global_value_type.is_function_vararg:
        raise _not_called(entry, "it takes a variable number of arguments")
    return function


def _problem(harness: Harness, function: ValueRef) -> str:
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
    if (found := str(function.global_value_type.get_function_return())) != expected:
        return f"it returns {found}, {_advice(found, harness.returns)}"
    return ""


def _advice(found: str, said: str | None) -> str:
    kinds = ["none"] if found == "void" else _kinds_of(found)
    if not kinds:
        return "which a harness cannot describe; call a function that returns a number or nothing"
    words = " or ".join(f'returns = "{kind}"' for kind in kinds)
    return f"and the harness says {said or 'none'}; write {words}"


def _kinds_of(ir: str) -> list[Kind]:
    """What a harness can call a type of LLVM IR."""
    return [name for name, kind in KINDS.items() if kind.ir == ir]


def _list(words: list[str]) -> str:
    more = ["..."] if len(words) > _SHOWN else []
    return ", ".join([*words[:_SHOWN], *more])


def _named(parameter: Any) -> str:
    return f" ({parameter.name})" if parameter.name else ""
