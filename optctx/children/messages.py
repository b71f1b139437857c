"""What a pool, its server and the children say to each other."""

from __future__ import annotations

import importlib
import typing
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Literal

import msgspec

from optctx.children.death import Death
from optctx.children.frames import decoder
from optctx.children.limits import Limits


class _Message(msgspec.Struct, frozen=True, array_like=True, tag=True):
    pass


# To the server.


class Place(msgspec.Struct, frozen=True, array_like=True):
    """Where a child runs: as the caller does now, not as it did when the server started."""

    folder: bytes | None
    environment: dict[bytes, bytes]  # all of it; none at all leaves it as it is


class Prepare(_Message, frozen=True):
    """First. What the function returns is the first argument of every call."""

    function: str
    arguments: msgspec.Raw
    place: Place


class Start(_Message, frozen=True):
    """Fork a child that calls a function. `talks`: it gets a channel after what was prepared."""

    number: int
    function: str
    arguments: msgspec.Raw
    limits: Limits
    place: Place
    talks: bool


class Tell(_Message, frozen=True):
    """Pass bytes to a child that talks. None: there is no more."""

    number: int
    data: bytes | None


class Kill(_Message, frozen=True):
    """Kill a child with all that it started."""

    number: int


# From the server.


class Ready(_Message, frozen=True):
    """The server has prepared. `error`: an OptctxError's words if it could not."""

    error: str
    process: int  # its number


class Said(_Message, frozen=True):
    """Bytes that a child wrote, as they are."""

    number: int
    data: bytes


class Ended(_Message, frozen=True):
    """A child's end, whether it has answered or not."""

    number: int
    end: Death


class Reply(msgspec.Struct, frozen=True, array_like=True):
    """A child's answer to one call.

    failed: The function raised an OptctxError. raised: It raised something else. no memory: It raised
        MemoryError, because Python had no more, or LLVM's operator new.
    """

    how: Literal["gave", "failed", "raised", "no memory"]
    value: msgspec.Raw = msgspec.Raw(b"\xc0")
    error: str = ""


ToServer = Prepare | Start | Tell | Kill
FromServer = Ready | Said | Ended


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
    return typing.cast("Callable[..., Any]", found)


@lru_cache(maxsize=64)
def _parameters(name: str, given: int) -> Any:
    function = function_of(name)
    hints = typing.get_type_hints(function)
    names = function.__code__.co_varnames[: function.__code__.co_argcount][given:]
    return tuple[tuple(hints[each] for each in names)] if names else tuple[()]  # type: ignore[misc]


def arguments_of(name: str, arguments: msgspec.Raw, given: int) -> tuple[Any, ...]:
    """Decode the arguments of a function. `given`: how many it gets before these. Raises ValueError."""
    return typing.cast("tuple[Any, ...]", decoder(_parameters(name, given)).decode(arguments))
