"""`optctx info`: prints what optctx found in this process, and what it refused and why."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

import optctx
from optctx.lab.command.console import put

if TYPE_CHECKING:
    from argparse import _SubParsersAction

    from optctx.lab.command.parser import Parser

__all__ = ["add", "run"]


def add(commands: _SubParsersAction[Parser]) -> None:
    """Enter the command among `commands`."""
    parser = commands.add_parser(
        "info",
        help="print what optctx found in LLVM, as JSON",
        description="Print, as JSON, which LLVM is loaded, how optctx gives threads their own options, "
        "and which options it refuses and why. Please add it to a bug report.",
        example="optctx info > info.json",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print `optctx.info()` as JSON."""
    put(json.dumps(optctx.info(), indent=2))
    return 0
