"""Numbers, texts, lists and tables from files of other people: read in bounded time, or refused by key.

JSON and TOML hold numbers of any length and nest as deeply as they like. Python's parsers raise a bare
ValueError or RecursionError for some of them, and code that works with the others an OverflowError later.
"""

from __future__ import annotations

import math
import os
import stat
from typing import Any

from optctx.errors import OptctxError, shown

_LEAST, _MOST = -(1 << 63), (1 << 64) - 1  # whole numbers: what 64 bits hold, with or without a sign
_DEEPEST = 32  # levels
_CUT = 40  # characters of what is found, and of a key


class DataError(ValueError):
    """The data is not plain. The message says where, what was expected and what was found."""


class Odd:
    """Stands for a number that Python cannot hold, or not at once, until `check_plain` finds it."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __str__(self) -> str:
        text = self._text
        return text if len(text) <= _CUT else f"{text[:_CUT]}... ({len(text):,} characters)"


def number_from(text: str) -> float | Odd:
    """The finite number that a text is, for the parsers."""
    number = float(text)
    return number if math.isfinite(number) else Odd(text)


def check_plain(value: object) -> None:
    """Raise DataError for whole numbers of more than 64 bits, other odd numbers, and more than 32 levels.

    `value`: of dicts, lists, texts and numbers, as a parser gives them. Infinite floats pass: TOML has them.
    """
    stack: list[tuple[object, _Path]] = [(value, None)]
    while stack:
        each, path = stack.pop()
        if isinstance(each, dict):
            inner: Any = each.items()
        elif isinstance(each, list):
            inner = enumerate(each)
        else:
            if isinstance(each, Odd) or (isinstance(each, int) and not _LEAST <= each <= _MOST):
                found = each if isinstance(each, Odd) else f"{shown(each)[:_CUT]}"
                raise DataError(f"expected a number of at most 64 bits{_at(path)}, found {found}")
            continue
        depth = 0 if path is None else path[2]
        if depth == _DEEPEST:
            raise DataError(f"expected at most {_DEEPEST} levels, found more{_at(path)}")
        stack.extend((item, (path, key, depth + 1)) for key, item in inner)


_Path = tuple[Any, object, int] | None  # that of what it is in, its key or place there, its depth


def _at(path: _Path) -> str:
    """Where something is, such as " for options.unroll-count[0]"."""
    keys: list[str] = []
    while path is not None:
        path, key, _ = path
        keys.append(f"[{key}]" if isinstance(key, int) else f".{str(key)[:_CUT]}")
    return f" for {''.join(reversed(keys)).removeprefix('.')[: 4 * _CUT]}" if keys else ""


def read_bounded(path: str | os.PathLike[str], most: int) -> bytes:
    """The bytes of a regular file. Raises OptctxError, with its name, for a larger or another one."""
    name = shown(os.fsdecode(path))
    try:
        # Does not wait for a writer of a pipe.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the name
        reason = error.strerror if isinstance(error, OSError) else error
        raise OptctxError(f"cannot read {name}: {reason}") from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OptctxError(f"cannot read {name}: it is not a regular file; name one")
        if status.st_size > most:
            raise OptctxError(
                f"cannot read {name}: it has {status.st_size:,} bytes, of at most {most:,}; name another file"
            )
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(most)
    except OSError as error:
        raise OptctxError(f"cannot read {name}: {error.strerror}") from None
    finally:
        os.close(descriptor)
