"""Frames on a pipe: a length, then MessagePack, which is decoded as the type that the reader names.

Nothing is unpickled: what a process says that has run a stranger's kernel becomes plain data, or an error.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from typing import TypeVar

import msgspec

__all__ = ["FrameError", "Frames", "bodies", "decode", "encode", "write_all"]

T = TypeVar("T")
_LENGTH = struct.Struct("<Q")
_CHUNK = 1 << 20  # bytes read at once
_MOST = 1 << 32  # bytes of a frame: the arrays of a harness and an object have 1 GiB each


class FrameError(Exception):
    """What was read is not what was expected."""


def encode(value: object) -> bytes:
    """Make one frame."""
    body = msgspec.msgpack.encode(value)
    return _LENGTH.pack(len(body)) + body


def decode(body: bytes, kind: type[T]) -> T:
    """Decode the body of a frame. Raises FrameError."""
    try:
        return msgspec.msgpack.decode(body, type=kind)
    except (ValueError, RecursionError, msgspec.MsgspecError) as error:
        raise FrameError(f"expected {kind}, found something else: {error}") from None


def write_all(descriptor: int, data: bytes) -> None:
    """Write everything to a blocking descriptor. Raises OSError if the reader is gone."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


class Frames:
    """Collects bytes, and returns the bodies of complete frames. `most`: bytes that one may have."""

    def __init__(self, most: int = _MOST) -> None:
        self._pending = bytearray()
        self._most = most

    def feed(self, data: bytes) -> list[bytes]:
        """The bodies that `data` completes, in order. Raises FrameError for a length that no frame has."""
        self._pending += data
        found = []
        while len(self._pending) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._pending)
            if length > self._most:
                raise FrameError(f"expected at most {self._most} bytes, found {length}")
            end = _LENGTH.size + length
            if len(self._pending) < end:
                break
            found.append(bytes(memoryview(self._pending)[_LENGTH.size : end]))
            del self._pending[:end]
        return found


def bodies(descriptor: int) -> Iterator[bytes]:
    """The bodies of frames, as they come, until the writer has closed its end."""
    frames = Frames()
    while data := os.read(descriptor, _CHUNK):
        yield from frames.feed(data)
