"""Where the C++ headers are that come with the package."""

from __future__ import annotations

import pathlib

__all__ = ["get_include"]


def get_include() -> str:
    """Give the folder for a C++ compiler's -I, with `optctx/option_context.hpp`."""
    return str(pathlib.Path(__file__).with_name("include"))
