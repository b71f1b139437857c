"""The command line: finds the command and turns every expected error into one line and exit status 2."""

from __future__ import annotations

import argparse
import importlib
import inspect
import itertools
import re
import sys
import textwrap
from collections.abc import Callable, Container, Iterator, Sequence
from types import ModuleType

from optctx import __version__
from optctx.errors import OptctxError, ProcessWideOptionError
from optctx.lab.command.console import (
    complain,
    doors,
    flush,
    prepare_streams,
    talk,
)
from optctx.lab.command.files import explain
from optctx.lab.command.interrupts import Interrupts
from optctx.lab.command.parser import Parser, add_talk, unknown_arguments
from optctx.lab.settings import add_flags, taken

# In the order of the help. What a command takes and does is in a module with its name (see `_add_command`).
COMMANDS = {
    "options": "look LLVM's options up: all, some or one, or what changed since another LLVM",
    "info": "show what optctx found in LLVM",
    "record": "show which options LLVM reads for a file",
    "sweep": "compile files under every combination of option values",
    "rank": "rank the options that LLVM reads for a file by what they change",
    "tune": "search option values for the best compilation of a file",
    "time": "measure whether options make a function faster",
    "reduce": "find the fewest options under which a compilation still fails",
}

_LLVM_OPTION = re.compile(r"-[\w]{2}")


DONE, FAILED, WRONG = range(3)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. `argv`: the arguments without the program's name, by default those of this process.

    Returns the exit status: 0; 1 if a check failed, such as `sweep --verify`; 2 for bad arguments or input,
    and where it ended early, as on a full disk; 130 after Ctrl-C, 143 after SIGTERM (and 129 after SIGHUP).
    Raises SystemExit, as argparse does, for --help and --version.
    """
    return guarded(lambda: _run(argv))


def guarded(run: Callable[[], int]) -> int:
    """Run a command. Turn what it raises into one line and an exit status, as `main` returns it."""
    interrupts = Interrupts()
    try:
        with interrupts:
            return _guarded(run, interrupts)
    except KeyboardInterrupt:  # as the block began or ended
        complain("interrupted")
        return interrupts.status


def _guarded(run: Callable[[], int], interrupts: Interrupts) -> int:
    prepare_streams()
    if sys.stdout is None:
        complain("cannot write to standard output: it is closed")
        return WRONG
    stdout = sys.stdout
    try:
        with doors(stdout):
            return run()
    except BrokenPipeError:  # the reader has read enough (`| head`)
        return DONE
    except KeyboardInterrupt as interrupt:  # with what the command says of its results, if it has any
        complain(str(interrupt) or "interrupted")
        return interrupts.status
    except Exception as error:
        words = _judged(error)
        if not words:
            raise
        complain(words)
        return WRONG
    finally:
        flush(stdout)


def _judged(error: Exception) -> str:
    """One line for an error that is expected, or ""."""
    match error:
        case ProcessWideOptionError():
            return f"cannot set {error.name!r} in this command: {error.reason}; leave it out"
        case OptctxError():
            return str(error)
        case OSError():
            return explain(error)
    return ""


def _run(argv: Sequence[str] | None) -> int:
    try:
        arguments = parse(sys.argv[1:] if argv is None else argv)
        talk(quiet=arguments.quiet, verbose=arguments.verbose)
        given = taken(arguments, arguments.command_module.Arguments)
        return arguments.command_module.run(given) or DONE
    finally:  # it may have printed help, or what was found so far
        sys.stdout.flush()


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Parse the arguments.

    Raises OptctxError for arguments that the command does not have.
    """
    argv = list(argv) or ["--help"]
    parser, commands = make_parser(argv[0])
    if argv[0] in COMMANDS:
        argv = [*_joined(argv, commands.choices[argv[0]].of_options)]
    # argparse would take a word such as -hexagon-... for options of one letter, of which -h prints help.
    words = itertools.takewhile(lambda argument: argument != "--", argv)
    unknown = [argument for argument in words if argument.startswith("-h") and argument != "-h"]
    if not unknown:
        arguments, unknown = parser.parse_known_args(argv)
    if unknown:
        raise unknown_arguments(commands.choices.get(argv[0], parser), unknown)
    return arguments


def _joined(argv: Sequence[str], flags: Container[str]) -> Iterator[str]:
    """Join each LLVM option to the one of `flags` before it: argparse would take it for a flag itself."""
    words = iter(argv)
    for word in words:
        if word in flags and (value := next(words, None)) is not None:
            yield from (f"{word}={value}",) if _LLVM_OPTION.match(value) else (word, value)
        else:
            yield word


def make_parser(only: str = "") -> tuple[Parser, argparse._SubParsersAction[Parser]]:
    """Make the parser of the whole command line. The second result has the commands' parsers in `choices`.

    `only`: the one command that it is to know with its arguments, or what is none; by default all.
    """
    parser = Parser(
        prog="optctx",
        description="Give each compilation its own LLVM options: compile under many values, see what LLVM "
        "reads, and look options up. `optctx COMMAND --help` explains a command.",
        example="optctx options unroll-count\noptctx record kernel.ll --set unroll-count=4\n"
        "optctx sweep kernel.ll --try unroll-count=1,2,4,8",
    )
    parser.add_argument(
        "-V",
        "--version",
        action="version",
        version=f"optctx {__version__}",
        help="print the version and exit",
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name in COMMANDS:
        if only in ("", name):
            module = importlib.import_module(f"optctx.lab.command.{name.replace('-', '_')}_command")
            _add_command(commands, name, module)
        elif only not in COMMANDS:
            commands.add_parser(name, help=COMMANDS[name])
    return parser, commands


def _add_command(commands: argparse._SubParsersAction[Parser], name: str, module: ModuleType) -> None:
    """Add a command. Its module's docstring is the help, with examples; `Arguments` is what it takes, and
    `run` does it, given these. Returns the exit status, or None for 0.
    """
    words, _, example = inspect.cleandoc(module.__doc__ or "").partition("\n\n")
    example = textwrap.dedent(example)
    command = commands.add_parser(name, help=COMMANDS[name], description=words, example=example)
    add_flags(command, module.Arguments)
    add_talk(command)
    command.set_defaults(command_module=module)
