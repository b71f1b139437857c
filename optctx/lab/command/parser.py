"""The argument parser of all commands. An error is one line, and each help text ends with an example."""

from __future__ import annotations

import argparse
import re
import textwrap
from shutil import get_terminal_size
from typing import Any, NoReturn

from optctx.errors import OptctxError
from optctx.wording import did_you_mean, nearest
from optctx_program import FOLDERS

__all__ = ["Parser", "UsageError", "add_said", "add_talk"]

_WIDTH = 79  # of a description, at most
_INDENT = 28  # the most columns before the help of an argument
_CHOICE = re.compile(
    r"(?:argument (?P<name>\S+): )?invalid choice: (?P<found>.*) \(choose from (?P<choices>.*)\)"
)
_INVALID = re.compile(r"^invalid int value: ")
_ARGUMENT = re.compile(r"argument (\S+): (.*)")


class UsageError(OptctxError):
    """The command line itself cannot be read."""


class Parser(argparse.ArgumentParser):
    """As argparse's parser, but errors raise UsageError, instead of printing the usage and exiting."""

    def __init__(self, *, example: str = "", description: str | None = None, **more: Any) -> None:
        """`example`: lines for the end of the help text. Only `description` is wrapped."""
        super().__init__(
            description=textwrap.fill(description or "", min(_WIDTH, get_terminal_size().columns - 1)),
            epilog=f"example{'s' if example.count(chr(10)) else ''}:\n{textwrap.indent(example, '  ')}"
            if example
            else None,
            formatter_class=lambda prog: argparse.RawDescriptionHelpFormatter(
                prog, max_help_position=_INDENT
            ),
            **more,
        )
        self.suggest_on_error = False  # by argparse of Python 3.15, in words of its own

    @property
    def arguments(self) -> list[argparse.Action]:
        """The arguments, in order. argparse has no public list."""
        return self._actions

    def error(self, message: str) -> NoReturn:
        """Raise UsageError with argparse's message, or a better one."""
        if choice := _CHOICE.fullmatch(message):
            raise UsageError(_no_such_choice(choice["name"], choice["found"], choice["choices"]))
        if argument := _ARGUMENT.fullmatch(message):
            name, words = argument.groups()
            if words == "expected one argument":
                raise UsageError(f"{name}: expected a value; write {name}=VALUE if it begins with '-'")
            message = f"{name}: {_INVALID.sub('expected a whole number, found ', words)}"
        raise UsageError(f"{message}; see `{self.prog} --help`")


def add_said(parser: argparse.ArgumentParser) -> None:
    """Add the flags for which `main` prints a line and exits: `--version`, and where C++ projects find the
    headers.
    """
    parser.add_argument("-V", "--version", action="store_true", help="print the version and exit")
    group = parser.add_argument_group("flags for C++ projects")
    for flag, (_, words) in FOLDERS.items():
        group.add_argument(flag, action="store_true", help=words)


def add_talk(parser: argparse.ArgumentParser) -> None:
    """Add what says how much is printed beside the result."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument("-q", "--quiet", action="store_true", help="print results and errors only")
    group.add_argument("-v", "--verbose", action="store_true", help="print all that LLVM prints")


def _no_such_choice(name: str | None, found: str, listed: str) -> str:
    """Reword argparse's message, which quotes the choices in some versions of Python."""
    choices = re.findall(r"[\w-]+", listed)
    word = found.strip("'\"")
    near = did_you_mean(nearest(word, choices))
    expected = " or ".join(part for part in (", ".join(choices[:-1]), choices[-1]) if part)
    return f"{name}: expected {expected}, found {found}" + (f"; {near}" if near else "")
