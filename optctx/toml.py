"""Read TOML, with one clear error for a file that is none."""

from __future__ import annotations

import os
import re
import tomllib
from typing import Any

from optctx.errors import OptctxError, shown
from optctx.plain_data import DataError, check_plain, number_from, read_bounded

_MOST_BYTES = 64 << 20
_INFINITE = ("inf", "nan")  # without a sign: TOML's own words
_LONG = re.compile(r"(?<![\d_])[\d_]{4000,}")  # digits, of which Python refuses more than 4,300
# 32 dots between the parts of a key. The parser takes quadratic time for such keys.
_PART = r"""(?:[\w-]+|"[^"\n]*"|'[^'\n]*')"""
_DEEP = re.compile(rf"\.[ \t]*{_PART}(?:[ \t]*\.[ \t]*{_PART}){{31}}")  # starts at a dot: spaces are many


def read_toml(path: str | os.PathLike[str], most: int = _MOST_BYTES) -> dict[str, Any]:
    """Return the table in a regular file of at most `most` bytes.

    Raises OptctxError, with the file's name, if it cannot be read, and as `parse_toml` does.
    """
    name = os.fsdecode(path)
    data = read_bounded(path, most)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise OptctxError(
            f"cannot read {shown(name)}: expected TOML in UTF-8, found {error.reason} at byte {error.start}"
        ) from None
    return parse_toml(text, name)


def parse_toml(text: str, name: str) -> dict[str, Any]:
    """Return the table that a text holds; `name` stands for the text in an OptctxError.

    Raises it for what is not TOML, for whole numbers of more than 64 bits, floats that are none, and more
    than 32 levels.
    """
    try:
        if deep := _DEEP.search(text):
            raise DataError(f"expected keys of at most 32 parts, found more in line {_line(text, deep)}")
        table = tomllib.loads(text, parse_float=_number)
        check_plain(table)
    except RecursionError:
        raise OptctxError(f"cannot read {shown(name)}: expected TOML: it nests too deeply") from None
    except tomllib.TOMLDecodeError as error:
        raise OptctxError(f"cannot read {shown(name)}: expected TOML: {error}") from None
    except ValueError as error:  # Python's own for a number with too many digits does not say where
        long = None if isinstance(error, DataError) else _LONG.search(text)
        words = str(error)
        if long is not None:
            found = f"one of {len(long[0]):,} digits in line {_line(text, long)}"
            words = f"expected a number of at most 64 bits, found {found}"
        raise OptctxError(f"cannot read {shown(name)}: {words}; correct it, or name another file") from None
    return table


def _number(text: str) -> object:
    return float(text) if text.lstrip("+-") in _INFINITE else number_from(text)


def _line(text: str, found: re.Match[str]) -> int:
    return text.count("\n", 0, found.start()) + 1


def quoted(text: str) -> str:
    """A text as TOML's basic string."""
    import json

    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
