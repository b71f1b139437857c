"""Files that a result will go to, judged before the work whose result it is."""

from __future__ import annotations

import os

__all__ = ["hindrance"]


def hindrance(path: str) -> str:
    """Why a file cannot be written, as far as that can be known without writing it; else ""."""
    folder = os.path.dirname(path) or "."
    if os.path.isdir(path):
        return "it is a directory; name a file in it"
    if not os.path.isdir(folder):
        return f"there is no directory {folder!r}; make it first"
    if not os.access(path if os.path.exists(path) else folder, os.W_OK):
        return "this user may not write there"
    return ""
