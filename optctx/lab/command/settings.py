"""`--set NAME=VALUE`, for one value of each option."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from optctx.errors import OptctxError, shown
from optctx.lab.settings import completing

__all__ = ["add_settings", "parse_settings"]


def add_settings(parser: argparse.ArgumentParser, words: str, value: str = "VALUE") -> None:
    """Add `--set`. `words`: the help text. `value`: the placeholder for the value in it."""
    given = parser.add_argument(
        "--set", action="append", default=[], metavar=f"NAME={value}", dest="settings", help=words
    )
    completing(given, "setting")


def parse_settings(settings: Sequence[str]) -> dict[str, str]:
    """Name -> text of the value, from texts such as "unroll-count=4". A leading "-" of a name is removed.

    A value may contain commas. Raises OptctxError for text without a name or "=", and for an option that is
    given twice. LLVM checks later that the option exists and accepts the value.
    """
    found: dict[str, str] = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        name = name.strip().lstrip("-")
        if not equals or not name:
            raise OptctxError(f"expected NAME=VALUE, such as unroll-count=4, found {shown(setting)}")
        if name in found:
            raise OptctxError(f"option {shown(name)} is set twice; take one --set out")
        found[name] = value.strip()
    return found
