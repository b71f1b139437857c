"""The location of the C++ headers in the package."""

from __future__ import annotations

import os

__all__ = ["get_include"]


def get_include() -> str:
    """Return the folder for a C++ compiler's -I, which has `optctx/option_context.hpp`."""
    return os.path.join(os.path.dirname(__file__), "include")
