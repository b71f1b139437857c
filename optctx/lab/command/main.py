"""The command line: finds the command and turns every expected error into one line and exit status 2."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import itertools
import re
import sys
from collections.abc import Iterator, Sequence

from optctx.errors import OptctxError, ProcessWideOptionError
from optctx.lab.command.console import (
    OutputError,
    abandon,
    complain,
    doors,
    flush_errors,
    kept_output,
    prepare_streams,
)
from optctx.lab.command.files import check_writable, explain
from optctx.lab.command.interrupts import Interrupts
from optctx.lab.command.mistakes import check_command, unknown_arguments
from optctx.lab.command.parser import Parser, add_version
from optctx.outputs import write_whole

__all__ = ["COMMANDS", "main", "make_parser", "parse"]

# In the order of the help.
COMMANDS = (
    "sweep",
    "record",
    "rank",
    "tune",
    "compare",
    "list",
    "show",
    "check-link",
    "info",
    "census",
    "export",
    "completion",
)

_MOST_OPTIONS = 5000  # LLVM has 2,600; argparse takes quadratic time
_TAKE_OPTIONS = ("--set", "--try", "--against", "--link-options", "--clang-options")
_LLVM_OPTION = re.compile(r"-[\w]{2}")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. `argv`: the arguments without the program's name, by default those of this process.

    Returns the exit status: 0; 1 if `sweep --verify` or `check-link` found a difference; 2 for bad input, and
    for output that cannot be written; 130 after Ctrl-C, 143 after SIGTERM, 129 after SIGHUP. Raises
    SystemExit, as argparse does, for --help and --version.
    """
    with Interrupts() as interrupts:
        return _guarded(argv, interrupts)


def _guarded(argv: Sequence[str] | None, interrupts: Interrupts) -> int:
    """Run the command. Turn what it raises into one line and an exit status."""
    prepare_streams()
    if sys.stdout is None:
        complain("cannot write to standard output: it is closed")
        return 2
    stdout = sys.stdout
    try:
        with doors(stdout):
            return _run(argv)
    except BrokenPipeError:
        abandon(stdout)  # the reader has read enough (`| head`)
        return 0
    except OutputError as error:
        complain(str(error))
        abandon(stdout)
        return 2
    except ProcessWideOptionError as error:
        complain(f"cannot set {error.name!r} in this command: {error.reason}; leave it out")
        return 2
    except OptctxError as error:
        complain(str(error))
        return 2
    except OSError as error:
        complain(explain(error))
        return 2
    except MemoryError:
        complain("cannot go on: this process gets no more memory (`ulimit -v` shows a limit)")
        return 2
    except RuntimeError as error:
        if "start new thread" not in str(error):
            raise
        complain("cannot go on: no more threads can be started (`ulimit -u` and `ulimit -v` show limits)")
        return 2
    except KeyboardInterrupt as interrupt:  # with what the command says of its results, if it has any
        complain(str(interrupt) or "interrupted")
        return interrupts.status


def _run(argv: Sequence[str] | None) -> int:
    try:
        arguments = parse(sys.argv[1:] if argv is None else argv)
        with _output(arguments):
            status: int = arguments.run(arguments)
    except SystemExit:  # after --help and --version
        sys.stdout.flush()
        flush_errors()
        raise
    except (KeyboardInterrupt, OptctxError):  # it may have printed what was found so far
        sys.stdout.flush()
        raise
    sys.stdout.flush()
    return status


@contextlib.contextmanager
def _output(arguments: argparse.Namespace) -> Iterator[None]:
    """Have what the command prints replace the file of `--output`, also where it ends early."""
    path = arguments.output if hasattr(arguments, "whole_output") else None
    if path is None:
        yield
        return
    check_writable(path)
    with kept_output() as text:
        try:
            yield
        except BaseException:
            if not text.tell():
                raise
            write_whole(path, text.getvalue().encode(errors="backslashreplace"))
            raise
        write_whole(path, text.getvalue().encode(errors="backslashreplace"))


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Parse the arguments.

    Raises OptctxError, with a suggestion, for arguments that the command does not have, and for more options
    than argparse can parse in a few seconds.
    """
    options = sum(argument.startswith("-") for argument in argv)
    if options > _MOST_OPTIONS:
        raise OptctxError(
            f"expected at most {_MOST_OPTIONS:,} options on the command line, found {options:,}"
        )
    argv = [*_joined(argv)]
    check_command(argv, COMMANDS)
    parser, commands = make_parser(argv[0] if argv and argv[0] in COMMANDS else None)
    # argparse would take a word such as -hexagon-... for options of one letter, of which -h prints help.
    words = itertools.takewhile(lambda argument: argument != "--", argv)
    unknown = [argument for argument in words if argument.startswith("-h") and argument != "-h"]
    if not unknown:
        arguments, unknown = parser.parse_known_args(argv)
    if unknown:
        raise unknown_arguments(commands.choices[argv[0]], unknown)
    return arguments


def _joined(argv: Sequence[str]) -> Iterator[str]:
    """The arguments, with an LLVM option joined to the flag before it: argparse would take it for a flag."""
    words = iter(argv)
    for word in words:
        if word in _TAKE_OPTIONS and (value := next(words, None)) is not None:
            yield from (f"{word}={value}",) if _LLVM_OPTION.match(value) else (word, value)
        else:
            yield word


def make_parser(only: str | None = None) -> tuple[Parser, argparse._SubParsersAction[Parser]]:
    """Make the parser of the whole command line. The second result has the commands' parsers in `choices`.

    `only`: the one command that it is to know, by default all: importing what the others need takes 0.1 s.
    """
    parser = Parser(
        prog="optctx",
        description="Give each compilation its own LLVM options: compile under many values, see what LLVM "
        "reads, and look options up. `optctx COMMAND --help` explains a command.",
        example="optctx sweep kernel.ll --passes 'default<O3>' --try unroll-count=1,2,4,8\n"
        "optctx record kernel.ll --set unroll-count=4\noptctx show unroll-count",
    )
    add_version(parser)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name in COMMANDS if only is None else (only,):
        importlib.import_module(f"optctx.lab.command.{name.replace('-', '_')}_command").add(commands)
    return parser, commands
