"""Read TOML, with one clear error for a file that is none."""

from __future__ import annotations

import os
import sys
from typing import Any

from optctx.errors import OptctxError, shown

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["parse_toml", "quoted", "read_toml"]


def read_toml(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the table in a file. Raises OptctxError, with the file's name, if it cannot be read."""
    name = os.fsdecode(path)
    try:
        with open(name, "rb") as file:
            data = file.read()
    except OSError as error:
        raise OptctxError(f"cannot read {shown(name)}: {error.strerror or error}") from None
    except ValueError as error:  # a zero byte in the name
        raise OptctxError(f"cannot read {shown(name)}: {error}") from None
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise OptctxError(
            f"cannot read {shown(name)}: expected TOML in UTF-8, found {error.reason} at byte {error.start}"
        ) from None
    return parse_toml(text, name)


def parse_toml(text: str, name: str) -> dict[str, Any]:
    """Return the table that a text holds; `name` stands for the text in an OptctxError."""
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        words = str(error) if isinstance(error, tomllib.TOMLDecodeError) else "it nests too deeply"
        raise OptctxError(f"cannot read {shown(name)}: expected TOML: {words}") from None


def quoted(text: str) -> str:
    """A text as TOML's basic string."""
    import json

    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
