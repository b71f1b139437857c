"""Where the C++ headers are that come with the package."""

from __future__ import annotations

import os

__all__ = ["get_include"]


def get_include() -> str:
    """Give the folder for a C++ compiler's -I, with `optctx/option_context.hpp`."""
    return os.path.join(os.path.dirname(__file__), "include")
