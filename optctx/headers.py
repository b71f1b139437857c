"""Where the C++ headers are that come with the package."""

from __future__ import annotations

import pathlib

__all__ = ["get_include"]


def get_include() -> str:
    """The folder for a C++ compiler's -I, so that `#include <optctx/option_context.hpp>` is found."""
    return str(pathlib.Path(__file__).with_name("include"))
