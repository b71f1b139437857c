"""Frames on a pipe between this process and its helper: a length, then a pickled object."""

from __future__ import annotations

import os
import pickle
import struct
from collections.abc import Iterator
from typing import Any

__all__ = ["Decoder", "encode", "received", "write_all"]

_LENGTH = struct.Struct("<Q")
_CHUNK = 1 << 20  # bytes read at once


def encode(value: object) -> bytes:
    """Make one frame."""
    body = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    return _LENGTH.pack(len(body)) + body


def write_all(descriptor: int, data: bytes) -> None:
    """Write everything to a blocking descriptor. Raises OSError if the reader is gone."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


class Decoder:
    """Collects bytes, and returns the values of complete frames."""

    def __init__(self) -> None:
        self._pending = bytearray()

    def feed(self, data: bytes) -> list[Any]:
        """The values that `data` completes, in order."""
        self._pending += data
        values = []
        while len(self._pending) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._pending)
            end = _LENGTH.size + length
            if len(self._pending) < end:
                break
            values.append(pickle.loads(self._pending[_LENGTH.size : end]))
            del self._pending[:end]
        return values


def received(descriptor: int, decoder: Decoder | None = None) -> Iterator[Any]:
    """The values of frames, as they come, until the writer has closed its end."""
    decoder = decoder or Decoder()
    while data := os.read(descriptor, _CHUNK):
        yield from decoder.feed(data)
