"""The command line: finds the command and turns every expected error into one line and exit status 2."""

from __future__ import annotations

import argparse
import importlib
import inspect
import io
import math
import re
import signal
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from types import FrameType, ModuleType
from typing import Any

from optctx import __version__
from optctx.errors import OptctxError, ProcessWideOptionError
from optctx.lab.command.console import apart, complain, flush, reserve_descriptors
from optctx.lab.command.parser import Parser
from optctx.lab.settings import add_flags, taken

# In the order of the help. What a command takes and does is in a module with its name (see `_add_command`).
COMMANDS = {
    "options": "look LLVM's options up: all, some or one, or what changed since another LLVM",
    "info": "show what optctx found in LLVM",
    "record": "show which options LLVM reads for a file",
    "sweep": "compile a file under every combination of option values",
    "rank": "rank the options that LLVM reads for a file by what they change",
    "tune": "search option values for the best compilation of a file",
    "time": "measure whether options make a function faster",
    "reduce": "find the fewest options under which a compilation still fails",
}

_OF_OPTIONS = ("--set", "--try", "--against", "--llc")  # whose values are options of LLVM's
_LLVM_OPTION = re.compile(r"-[\w]{2}")
_ONE = 1.0  # seconds in which further signals are one with the first: `timeout` sends two
_AGAIN = 0.005  # seconds after which an exception that was swallowed comes again


DONE, WRONG = 0, 2


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. `argv`: the arguments without the program's name, by default those of this process.

    Returns the exit status: 0; 1 if a check failed, such as `sweep --verify`; 2 for bad arguments or input,
    and where it ended early, as on a full disk; 130 after Ctrl-C, 143 after SIGTERM.
    Raises SystemExit, as argparse does, for --help and --version.
    """
    return guarded(lambda: _run(argv))


def guarded(run: Callable[[], int]) -> int:
    """Run a command. Turn what it raises into one line and an exit status, as `main` returns it."""
    interrupts = _Interrupts()
    try:
        with interrupts:
            return _guarded(run, interrupts)
    except KeyboardInterrupt:  # as the block began or ended
        complain("interrupted")
        return interrupts.status


def _guarded(run: Callable[[], int], interrupts: _Interrupts) -> int:
    reserve_descriptors()
    if sys.stdout is None:
        complain("cannot write to standard output: it is closed")
        return WRONG
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # its encoding may be ASCII
    try:
        with apart():
            return run()
    except BrokenPipeError:  # the reader has read enough (`| head`)
        return DONE
    except KeyboardInterrupt as interrupt:  # with what the command says of its results, if it has any
        complain(str(interrupt) or "interrupted")
        return interrupts.status
    except OSError as error:
        about = (
            "the operating system refused a step"
            if error.filename is None
            else f"cannot use {error.filename}"
        )
        complain(f"{about}: {error.strerror}")
        return WRONG
    except ProcessWideOptionError as error:
        complain(f"cannot set {error.name!r} in this command: {error.reason}; leave it out")
        return WRONG
    except OptctxError as error:
        complain(str(error))
        return WRONG
    finally:
        flush(sys.stdout)


class _Interrupts:
    """Has SIGINT and SIGTERM raise KeyboardInterrupt on the main thread. A context manager.

    Python prints and forgets an exception that a signal handler raises in a finaliser or in a weakref's
    callback, as each import has them. Such a one comes again. Signals that are ignored stay ignored.

    `status`: the exit status that shells give to a process which the signal has ended.
    """

    def __init__(self) -> None:
        self._number: int = signal.SIGINT
        self._came = -_ONE
        self._handlers: dict[int, Any] = {}

    @property
    def status(self) -> int:
        return 128 + self._number

    def __enter__(self) -> None:
        self._hook = sys.unraisablehook
        if threading.current_thread() is threading.main_thread():
            sys.unraisablehook = self._swallowed
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM):
                if signal.getsignal(number) is not signal.SIG_IGN:
                    self._handlers[number] = signal.signal(number, self._raise)

    def __exit__(self, *error: object) -> None:
        self._came = math.inf  # what still comes is one with what ended the block, or too late
        if self._handlers:
            signal.setitimer(signal.ITIMER_REAL, 0)
        sys.unraisablehook = self._hook
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    def _raise(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if number != signal.SIGALRM:
            if now - self._came < _ONE:
                return
            self._number, self._came = number, now
        raise KeyboardInterrupt

    def _swallowed(self, unraisable: sys.UnraisableHookArgs) -> None:
        if isinstance(unraisable.exc_value, KeyboardInterrupt):
            signal.setitimer(signal.ITIMER_REAL, _AGAIN)
        else:
            self._hook(unraisable)


def _run(argv: Sequence[str] | None) -> int:
    try:
        arguments = parse(sys.argv[1:] if argv is None else argv)
        given = taken(arguments, arguments.command_module.Arguments)
        return arguments.command_module.run(given) or DONE
    finally:  # it may have printed help, or what was found so far
        sys.stdout.flush()


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Parse the arguments. Raises OptctxError for arguments that the command does not have."""
    argv = list(argv) or ["--help"]
    parser, _ = make_parser(argv[0])
    return parser.parse_args([*_joined(argv)])


def _joined(argv: Sequence[str]) -> Iterator[str]:
    """Join each LLVM option to the flag before it: argparse would take it for a flag itself."""
    words = iter(argv)
    for word in words:
        if word in _OF_OPTIONS and (value := next(words, None)) is not None:
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
    command.set_defaults(command_module=module)
