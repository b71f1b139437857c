"""The command line: finds the command and turns every expected error into one line and exit status 2."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from optctx.cli import (
    check_link_command,
    info_command,
    list_command,
    sensitivity_command,
    show_command,
    sweep_command,
)
from optctx.errors import OptctxError

__all__ = ["main"]

_COMMANDS = (
    sweep_command,
    sensitivity_command,
    list_command,
    show_command,
    check_link_command,
    info_command,
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; `argv` without the program's name, by default the process's own.

    Returns the exit status: 0, 1 where `sweep --verify` or `check-link` found a difference, 2 for bad input.
    Raises SystemExit as argparse does for arguments it cannot read and for --help.
    """
    arguments = _parser().parse_args(argv)
    try:
        status: int = arguments.run(arguments)
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        # The reader has what it wanted (`| head`); keep the flush at exit from complaining.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (OptctxError, OSError) as error:
        print(f"optctx: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("optctx: interrupted", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="optctx", description="LLVM's options, per thread.")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for command in _COMMANDS:
        command.add(commands)
    return parser
