"""Read TOML of other people: in bounded time, with one clear error for a file that is none."""

from __future__ import annotations

import os
import re
import stat
import tomllib
from typing import Any

from optctx.errors import OptctxError, reason, shown

# 32 dots between the parts of a key. The parser takes quadratic time for such keys.
_PART = r"""(?:[\w-]+|"[^"\n]*"|'[^'\n]*')"""
_DEEP = re.compile(rf"\.[ \t]*{_PART}(?:[ \t]*\.[ \t]*{_PART}){{31}}")  # starts at a dot: spaces are many


def read_toml(path: str | os.PathLike[str], most: int) -> dict[str, Any]:
    """Return the table in a regular file of at most `most` bytes.

    Raises OptctxError, with the file's name, if it cannot be read, is no TOML, or holds what Python's parser
    does not read.
    """
    name = shown(os.fsdecode(path))
    data = _read(path, name, most)
    try:
        text = data.decode()
        deep = _DEEP.search(text)
        if deep is None:
            return tomllib.loads(text)
        why = f"keys of at most 32 parts, found more in line {text.count(chr(10), 0, deep.start()) + 1}"
    except UnicodeDecodeError as error:
        why = f"TOML in UTF-8, found {error.reason} at byte {error.start}"
    except RecursionError:
        why = "TOML: it nests too deeply"
    except tomllib.TOMLDecodeError as error:
        why = f"TOML: {error}"
    except ValueError:
        why = "TOML: it has a number with too many digits"
    raise OptctxError(f"cannot read {name}: expected {why}")


def _read(path: str | os.PathLike[str], name: str, most: int) -> bytes:
    try:
        with open(path, "rb", opener=_open) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise OptctxError(f"cannot read {name}: it is not a regular file; name one")
            if status.st_size > most:
                raise OptctxError(
                    f"cannot read {name}: it has {status.st_size:,} bytes, of at most {most:,}; "
                    "name another file"
                )
            return file.read(most)
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the name
        raise OptctxError(f"cannot read {name}: {reason(error)}") from None


def _open(path: str, flags: int) -> int:
    """Open a file without waiting for a writer, if it is a pipe."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)


def quoted(text: str) -> str:
    """A text as TOML's basic string."""
    import json

    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
