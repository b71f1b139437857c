"""Load the native module, or say in one sentence why that fails and what to do.

A source folder holds optctx without its native module. Python that is started there imports it before an
installed copy.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Iterator

__all__: list[str] = []

_NAME = "optctx._native"
_AGAIN = "install optctx again, with this Python"
_PACKAGE = os.path.dirname(os.path.abspath(__file__))


def _load() -> None:
    """Raise ImportError with what to do."""
    try:
        if importlib.util.find_spec(_NAME) is not None:
            importlib.import_module(_NAME)
            return
    except ImportError as error:
        raise ImportError(f"optctx's native module cannot be loaded: {error}; {_AGAIN}") from error
    parent = os.path.dirname(_PACKAGE)
    if os.path.exists(os.path.join(parent, "CMakeLists.txt")):
        source = f"optctx is imported from its source folder {parent}, where its native module is not built"
        raise ImportError(f"{source}; {_elsewhere()}")
    if built := _built(_PACKAGE):
        raise ImportError(f"optctx in {_PACKAGE} is built for another Python ({', '.join(built)}); {_AGAIN}")
    raise ImportError(f"optctx in {_PACKAGE} has no native module; {_AGAIN}")


def _elsewhere() -> str:
    """What to do in a source folder."""
    installed = next(_installed(), None)
    if installed is None:
        return "run `pip install .` there and start Python in another folder, or run `pip install -e .`"
    safely = " or with `python -P`" if sys.version_info >= (3, 11) else ""
    return f"start Python in another folder{safely} to import the copy in {installed}"


def _built(package: str) -> list[str]:
    """The files of native modules in a folder of the package, for any Python."""
    try:
        return sorted(
            name for name in os.listdir(package) if name.startswith("_native.") and name[-3:] == ".so"
        )
    except OSError:  # no such folder
        return []


def _installed() -> Iterator[str]:
    """Folders on the path with another copy that has a native module."""
    for entry in filter(lambda entry: isinstance(entry, str), sys.path):
        package = os.path.join(os.path.abspath(entry), "optctx")
        if _built(package) and not os.path.samefile(package, _PACKAGE):
            yield os.path.dirname(package)


_load()
