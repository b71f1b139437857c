"""The tools: experiments with option values, and what is known of an LLVM.

    from optctx.lab import Search, tune

Names are imported on first use: importing the package alone loads none of the tools.
"""

import importlib
from typing import Any

__all__ = ["Limits", "Search", "parse_space", "tune", "write_report"]

_WHERE = {
    "Limits": "tuning",
    "Search": "tuning",
    "parse_space": "space",
    "tune": "tuning",
    "write_report": "report",
}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_WHERE[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
