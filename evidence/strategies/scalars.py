"""The values of options that are one number, read and stored where LLVM keeps them, past LLVM's parser."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

from optctx._native import Kind
from optctx.image.abi import type_name
from optctx.image.loaded import Image
from optctx.image.options import RegisteredOption
from optctx.image.registry_reader import read_registry

__all__ = ["Scalar", "find_scalars"]

_TYPES: dict[Kind, Any] = {
    Kind.boolean: ctypes.c_bool,
    Kind.int32: ctypes.c_int32,
    Kind.uint32: ctypes.c_uint32,
}


class Scalar:
    """The process-wide value of one option. Storing it calls nothing of LLVM's and counts no occurrence."""

    __slots__ = ("_type", "address", "kind")

    def __init__(self, option: RegisteredOption) -> None:
        self.kind = type_name(option.type.kind)
        self.address = option.place.address
        self._type = None if option.callback else _TYPES.get(option.type.kind)

    @property
    def writable(self) -> bool:
        """Whether it is a bool, an int or an unsigned, and nothing of LLVM's wants to hear of a change."""
        return self._type is not None

    def checked(self, value: int) -> int:
        """The value, if the type can hold it. Raises ValueError."""
        if self._type is None or self._type(value).value != value:
            raise ValueError(value)
        return value

    def read(self) -> int:
        """The value, for a writable one."""
        assert self._type is not None
        return int(self._type.from_address(self.address).value)

    def write(self, value: int) -> None:
        """Store a value that `checked` has passed, for the whole process."""
        assert self._type is not None
        self._type.from_address(self.address).value = value


@cache  # thousands of options are looked at
def find_scalars(image: Image) -> dict[str, Scalar]:
    """Every option by each of its names; not all are `writable`. Raises UnsupportedImageError."""
    return {
        name: Scalar(option)
        for option in read_registry(image).options
        if not option.type.alias
        for name in option.names
    }
