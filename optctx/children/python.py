"""Starts Python so that it imports what this process imports, and nothing from the current folder.

Python looks into the current folder first for `-c` and `-m`, and wherever PYTHONPATH has an empty entry. A
file there with the name of a standard module would run once the child imports that module. `-P` keeps the
folder out; on 3.13 and 3.14, `-c` itself imports before the first line of code runs. `-E`, and a path that is
set before the first import, do the rest in every release (design/child-processes.md).
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress

# `sys` is built in. Everything else is looked up in the path, so the path comes first.
_CODE = "import sys; sys.path[:] = {path!a}; {code}"
_OURS = ("optctx", "llvmlite", "numba", "numpy")


def python_command(code: str) -> list[str]:
    """The command that runs code in a new interpreter.

    The interpreter ignores every variable PYTHON*, because some can name the current folder. What they have
    added to `sys.path` of this process, and what it has added itself, is in the command.
    """
    return [sys.executable, *_flags(), "-c", _CODE.format(path=_path(), code=code)]


def _flags() -> list[str]:
    """Flags for what this process has from its own flags, or from variables that `-E` ignores."""
    prefix = sys.pycache_prefix
    return [
        "-E",
        "-P",
        *(["-s"] if sys.flags.no_user_site else []),
        *(["-S"] if sys.flags.no_site else []),
        *(["-B"] if sys.dont_write_bytecode else []),
        *(["-X", f"pycache_prefix={prefix}"] if prefix and os.path.isabs(prefix) else []),
        *(["-X", "utf8=1"] if sys.flags.utf8_mode else []),
    ]


def _path() -> list[str]:
    """The path of this process without the current folder, unless that was asked for by its full name.

    A folder that PYTHONPATH names from the root on stays. So does the one that this process has loaded optctx
    or one of its libraries from: its files run in this process as well.
    """
    given = "" if sys.flags.ignore_environment else os.environ.get("PYTHONPATH", "")
    asked = {entry for entry in given.split(os.pathsep) if os.path.isabs(entry)}
    asked.update(filter(None, map(_home, _OURS)))
    kept = any(map(_is_current, asked))
    entries = (entry for entry in sys.path if isinstance(entry, str))
    return [os.path.abspath(entry) for entry in entries if kept or not _is_current(entry)]


def _home(name: str) -> str:
    """The folder that a loaded package lies in; "" if it is not loaded, or has no file."""
    file = getattr(sys.modules.get(name), "__file__", None)
    return os.path.dirname(os.path.dirname(os.path.abspath(file))) if file else ""


def _is_current(entry: str) -> bool:
    with suppress(OSError):  # one of them is not there
        return os.path.samefile(entry or os.curdir, os.curdir)
    return not entry
