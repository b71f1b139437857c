"""What a pool, its server and the children say to each other, in frames on sockets.

A frame is a length and a body. What the caller tells is pickled: functions by their names, with their
arguments. What a child says may come from a stranger's module, so it is never unpickled: it is MessagePack,
which is decoded as the type that the caller names.
"""

from __future__ import annotations

import os
import pickle
import resource
import struct
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Literal, TypeVar, cast

import msgspec

from optctx.errors import OptctxError

CHUNK = 1 << 20  # bytes read at once
_LENGTH = struct.Struct("<Q")
_MOST = 1 << 31  # bytes of a frame: LLVM's objects are smaller, and so is any module as text
T = TypeVar("T")


class FrameError(OptctxError):
    """What was read is not what was expected."""


def pack(value: object) -> msgspec.Raw:
    """Make a part of what a child says. Raises UnicodeEncodeError for what is not valid Unicode."""
    return msgspec.Raw(msgspec.msgpack.encode(value))


def framed(body: bytes) -> bytes:
    """Make one frame."""
    return _LENGTH.pack(len(body)) + body


def encode(value: object) -> bytes:
    """Make one frame of what a child says. Raises UnicodeEncodeError as `pack` does."""
    return framed(msgspec.msgpack.encode(value))


def order(value: object) -> bytes:
    """Make one frame of what a child or a server is told."""
    return framed(pickle.dumps(value))


def decode(body: bytes, gives: type[T]) -> T:
    """Decode what a child said as a type. Raises FrameError."""
    try:
        return cast(T, _decoder(gives).decode(body))  # type: ignore[arg-type]  # types can be hashed
    except (ValueError, RecursionError) as error:  # msgspec's errors, and of bytes that are no UTF-8
        raise FrameError(
            f"expected {getattr(gives, '__name__', gives)}, found something else: {error}"
        ) from None


@lru_cache(maxsize=64)
def _decoder(gives: Any) -> msgspec.msgpack.Decoder[Any]:
    return msgspec.msgpack.Decoder(gives)


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


def bodies(descriptor: int) -> Iterator[bytes]:
    """Yield the bodies of the frames that arrive. Raises FrameError for a length that none has."""
    frames = Frames()
    while data := os.read(descriptor, CHUNK):
        yield from frames.feed(data)


# What a child may take. Never more than this process was given itself (`ulimit`, a batch system).


class Limits(msgspec.Struct, frozen=True, array_like=True):
    """None is no limit."""

    seconds: float | None = None
    """Wall time of a call, from its start. The caller sees to it."""
    memory: int | None = None
    """Bytes of address space beyond the server's."""
    processor: int | None = None
    """The number of the only processor that it runs on."""

    def apply(self) -> None:
        """Limit this process, a child."""
        if self.memory is not None:
            lower_limit(resource.RLIMIT_AS, address_space() + self.memory)
        if self.processor is not None:
            os.sched_setaffinity(0, {self.processor})


def lower_limit(kind: int, most: int) -> None:
    """Lower a limit of this process to `most`. One that is lower already stays: raising it is forbidden."""
    soft, hard = (
        most if limit == resource.RLIM_INFINITY else min(limit, most) for limit in resource.getrlimit(kind)
    )
    resource.setrlimit(kind, (soft, hard))


def address_space() -> int:
    """The size of this process's address space, in bytes."""
    with open("/proc/self/statm", encoding="ascii") as statm:
        return int(statm.read().split()[0]) * resource.getpagesize()


class Start(msgspec.Struct, frozen=True, array_like=True):
    """To a child. It runs as the caller does now, not as that did when the server started.

    `talks`: the function gets a channel, and says itself what comes of it.
    """

    function: Callable[..., Any]
    arguments: Sequence[Any]
    talks: bool
    limits: Limits
    folder: bytes | None
    environment: dict[bytes, bytes]


class Reply(msgspec.Struct, frozen=True, array_like=True):
    """A child's answer to one call.

    failed: The function raised an OptctxError. raised: It raised something else.
    """

    how: Literal["gave", "failed", "raised"]
    value: msgspec.Raw = msgspec.Raw(b"\xc0")
    error: str = ""
