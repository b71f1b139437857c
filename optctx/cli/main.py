"""The command line: finds the command and turns every expected error into one line and exit status 2."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Sequence
from typing import TextIO, cast

from optctx.cli import (
    check_link_command,
    info_command,
    list_command,
    sensitivity_command,
    show_command,
    sweep_command,
)
from optctx.cli.console import Output, OutputError, abandon, complain, flush_errors, prepare_streams
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

_MOST_OPTIONS = 5000  # LLVM has 2,600, and the time that argparse takes grows with the square


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; `argv` without the program's name, by default the process's own.

    Returns the exit status: 0, 1 where `sweep --verify` or `check-link` found a difference, 2 for bad input
    and for output that cannot be written.
    Raises SystemExit as argparse does for arguments it cannot read and for --help.
    """
    prepare_streams()
    if sys.stdout is None:
        complain("cannot write to standard output: it is closed")
        return 2
    stdout = sys.stdout
    try:
        with contextlib.redirect_stdout(cast(TextIO, Output(stdout))):
            return _run(argv)
    except BrokenPipeError:
        abandon(stdout)  # the reader has what it wanted (`| head`)
        return 0
    except OutputError as error:
        complain(str(error))
        abandon(stdout)
        return 2
    except (OptctxError, OSError) as error:
        complain(str(error))
        return 2
    except KeyboardInterrupt:
        complain("interrupted")
        return 130


def _run(argv: Sequence[str] | None) -> int:
    try:
        arguments = _parser().parse_args(_checked(sys.argv[1:] if argv is None else argv))
        status: int = arguments.run(arguments)
    except SystemExit:  # after --help, and for bad arguments
        sys.stdout.flush()
        flush_errors()
        raise
    sys.stdout.flush()
    return status


def _checked(argv: Sequence[str]) -> Sequence[str]:
    """The arguments. Raises OptctxError for more options than argparse can take in a few seconds."""
    options = sum(argument.startswith("-") for argument in argv)
    if options > _MOST_OPTIONS:
        raise OptctxError(
            f"expected at most {_MOST_OPTIONS:,} options on the command line, found {options:,}"
        )
    return argv


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="optctx", description="LLVM's options, per thread.")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for command in _COMMANDS:
        command.add(commands)
    return parser
