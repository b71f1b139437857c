"""Set, compile, put back: registered options are changed for the process, as TVM does."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

from evidence.strategies.arguments import split
from evidence.strategies.strategy import Strategy
from optctx._native import Kind
from optctx.errors import OptionTypeError, OptionValueError, UnknownOptionError
from optctx.hosts.llvmlite import llvmlite_image
from optctx.image.abi import type_name
from optctx.image.loaded import Image
from optctx.image.options import RegisteredOption
from optctx.image.registry_reader import read_registry

_BOOLS = {None: 1, "true": 1, "1": 1, "": 1, "false": 0, "0": 0}
_TYPES: dict[Kind, Any] = {
    Kind.boolean: ctypes.c_bool,
    Kind.int32: ctypes.c_int32,
    Kind.uint32: ctypes.c_uint32,
}


class SaveRestoreStrategy(Strategy):
    """Keep the value of the registered object, store another one, put the first one back.

    As TVM's LLVMTarget and its `With<LLVMCLOption>`: the value alone is stored, past LLVM's parser, so the
    option still counts as not given. bool, int and unsigned only, and nothing that LLVM wants to hear of. TVM
    also lets a single object at a time change anything; here scopes nest, as its RFC proposed.
    """

    name = "save-restore"
    source = "TVM, src/target/llvm/llvm_instance.cc (LLVMTarget::ApplyLLVMOptions); tvm-rfcs#83"

    def __init__(self) -> None:
        super().__init__()
        self._options: dict[str, RegisteredOption] = {}

    def __enter__(self) -> SaveRestoreStrategy:
        self._options = _options(llvmlite_image())
        return self

    def _enter(self, inside: tuple[str, ...], own: tuple[str, ...]) -> list[tuple[Any, int]]:
        """The storage of each option, and what it held."""
        new = [self._change(argument) for argument in own]
        held = [(storage, storage.value) for storage, _ in new]
        for storage, value in new:
            storage.value = value
        return held

    def _change(self, argument: str) -> tuple[Any, int]:
        """Where LLVM keeps the value of an option, and the one to store there."""
        name, text = split(argument)
        option = self._options.get(name)
        if option is None:
            raise UnknownOptionError(
                f"cannot set {name!r} as TVM does: no option of that name is registered", name
            )
        kind = type_name(option.type.kind)
        number = None if option.callback else _TYPES.get(option.type.kind)
        if number is None:
            raise OptionTypeError(
                f"cannot set {name!r} as TVM does: expected a bool, an int or a uint, found {kind}"
            )
        try:
            value = _BOOLS[text] if kind == "bool" else int(text or "", 0)
            if number(value).value != value:
                raise ValueError(value)
        except (KeyError, ValueError):
            raise OptionValueError(
                f"cannot set {name!r}: expected a value of type {kind}, found {text!r}"
            ) from None
        return number.from_address(option.place.address), value

    def _leave(self, kept: list[tuple[Any, int]]) -> None:
        for storage, value in reversed(kept):
            storage.value = value


@cache  # every program opens the strategy anew
def _options(image: Image) -> dict[str, RegisteredOption]:
    found = read_registry(image).options
    return {name: option for option in found if not option.type.alias for name in option.names}
