"""Frames on a pipe: a length, then MessagePack, which is decoded as the type that the reader names.

Nothing is unpickled. What a process says that has read a stranger's module becomes plain data or an error.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, TypeVar, cast

import msgspec

from optctx.errors import OptctxError, shown

CHUNK = 1 << 20  # bytes read at once
_LENGTH = struct.Struct("<Q")
_MOST = 1 << 31  # bytes of a frame: LLVM's objects are smaller, and so is any module as text
T = TypeVar("T")


class FrameError(OptctxError):
    """What was read is not what was expected."""


class _TextOrBytes(type):
    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, str | bytes)


class Source(metaclass=_TextOrBytes):
    """The type of a field with text or bytes, as which it is decoded: msgspec takes no `str | bytes`."""


def pack(value: object) -> msgspec.Raw:
    """Make a part of a frame. Raises OptctxError for a text with characters that Unicode does not have."""
    try:
        return msgspec.Raw(msgspec.msgpack.encode(value))
    except UnicodeEncodeError as error:
        raise OptctxError(
            f"cannot pass {shown(error.object)} to another process: it is not valid Unicode"
        ) from None


def encode(value: object) -> bytes:
    """Make one frame. Raises OptctxError as `pack` does."""
    body = memoryview(pack(value))
    return _LENGTH.pack(len(body)) + body


def decode(body: bytes, gives: type[T]) -> T:
    """Decode the body of a frame as a type. Raises FrameError."""
    try:
        return cast(T, decoder(gives).decode(body))  # type: ignore[arg-type]  # types can be hashed
    except (ValueError, RecursionError) as error:  # msgspec's errors, and of bytes that are no UTF-8
        raise FrameError(
            f"expected {getattr(gives, '__name__', gives)}, found something else: {error}"
        ) from None


@lru_cache(maxsize=64)
def decoder(gives: Any) -> msgspec.msgpack.Decoder[Any]:
    """The decoder of a type, which is made once."""
    return msgspec.msgpack.Decoder(gives, dec_hook=_custom)


def _custom(kind: type, value: object) -> object:
    if kind is Source and isinstance(value, str | bytes):
        return value
    raise ValueError(f"expected {kind.__name__}, found {type(value).__name__}")


def write_all(descriptor: int, data: bytes) -> None:
    """Write everything to a blocking descriptor. Raises OSError if the reader is gone."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


class Frames:
    """Collects bytes, and returns the bodies of complete frames."""

    def __init__(self) -> None:
        self._pending = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """The bodies that `data` completes, in order. Raises FrameError for a length that no frame has."""
        self._pending += data
        bodies = []
        while len(self._pending) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._pending)
            if length > _MOST:
                raise FrameError(f"expected a frame of at most {_MOST} bytes, found {length}")
            end = _LENGTH.size + length
            if len(self._pending) < end:
                break
            bodies.append(bytes(memoryview(self._pending)[_LENGTH.size : end]))
            del self._pending[:end]
        return bodies


def messages(descriptor: int, gives: type[T]) -> Iterator[T]:
    """Yield the messages of one type that arrive at a descriptor. Raises FrameError for others."""
    frames = Frames()
    while data := os.read(descriptor, CHUNK):
        for body in frames.feed(data):
            yield decode(body, gives)
