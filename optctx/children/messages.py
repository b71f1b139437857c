"""What a pool, its server and the children say to each other, in frames on sockets.

A frame is a length, then MessagePack, which is decoded as the type that the reader names. Nothing is
unpickled: what a process says that has read a stranger's module becomes plain data or an error.
"""

from __future__ import annotations

import importlib
import os
import resource
import struct
import typing
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, Literal, TypeVar, cast

import msgspec

from optctx.errors import OptctxError, shown

CHUNK = 1 << 20  # bytes read at once
_LENGTH = struct.Struct("<Q")
_MOST = 1 << 31  # bytes of a frame: LLVM's objects are smaller, and so is any module as text
_SPARE = 5  # seconds of processor time, beyond what a call may take on every processor
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


def bodies(descriptor: int) -> Iterator[bytes]:
    """Yield the bodies of the frames that arrive. Raises FrameError for a length that none has."""
    frames = Frames()
    while data := os.read(descriptor, CHUNK):
        yield from frames.feed(data)


# What a child may take. Never more than this process was given itself (`ulimit`, a batch system).


class Limits(msgspec.Struct, frozen=True, array_like=True):
    """None is no limit."""

    seconds: float | None = None
    """Wall time of a call, from its start."""
    memory: int | None = None
    """Bytes of address space beyond the server's."""
    processor: int | None = None
    """The number of the only processor that it runs on."""
    files: int | None = None
    """Bytes of a file that it writes."""

    def apply(self) -> None:
        """Limit this process, a child."""
        if self.seconds is not None:  # if the server dies first, nothing else stops a call that never ends
            lower_limit(resource.RLIMIT_CPU, int(self.seconds) * (os.cpu_count() or 1) + _SPARE)
        if self.memory is not None:
            lower_limit(resource.RLIMIT_AS, address_space() + self.memory)
        if self.files is not None:
            lower_limit(resource.RLIMIT_FSIZE, self.files)
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
    """To a child. It runs as the caller does now, not as that did when the server started."""

    arguments: msgspec.Raw
    limits: Limits
    folder: bytes | None
    environment: dict[bytes, bytes]


class Reply(msgspec.Struct, frozen=True, array_like=True):
    """A child's answer to one call.

    failed: The function raised an OptctxError. raised: It raised something else. no memory: It raised
        MemoryError, because Python had no more, or LLVM's operator new.
    """

    how: Literal["gave", "failed", "raised", "no memory"]
    value: msgspec.Raw = msgspec.Raw(b"\xc0")
    error: str = ""


# Functions travel by name, arguments as data that is decoded by what the function declares.


def name_of(function: Callable[..., object]) -> str:
    """ "module:name" of a function."""
    if "<" in function.__qualname__ or function.__module__ == "__main__":
        raise TypeError(f"expected a function that another process can import, found {function!r}")
    return f"{function.__module__}:{function.__qualname__}"


@lru_cache(maxsize=64)
def function_of(name: str) -> Callable[..., Any]:
    """The function of that name. Its module is imported."""
    module, _, path = name.partition(":")
    found: Any = importlib.import_module(module)
    for each in path.split("."):
        found = getattr(found, each)
    return cast("Callable[..., Any]", found)


@lru_cache(maxsize=64)
def arguments_decoder(name: str, given: int) -> msgspec.msgpack.Decoder[tuple[Any, ...]]:
    """The decoder of a function's arguments. `given`: how many it gets before these."""
    function = function_of(name)
    hints = typing.get_type_hints(function)
    kinds = tuple(
        hints[each] for each in function.__code__.co_varnames[: function.__code__.co_argcount][given:]
    )
    return decoder(tuple[kinds] if kinds else tuple[()])  # type: ignore[valid-type]


def arguments_of(name: str, arguments: msgspec.Raw, given: int) -> tuple[Any, ...]:
    """Decode the arguments of a function. `given`: how many it gets before these. Raises ValueError."""
    return arguments_decoder(name, given).decode(arguments)
