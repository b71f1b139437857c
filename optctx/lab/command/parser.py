"""The argument parser of all commands. An error is one line; each help text ends with an example."""

from __future__ import annotations

import argparse
import re
import textwrap
from collections.abc import Sequence
from functools import partial
from typing import Any, NoReturn

from optctx import registry
from optctx.errors import OptctxError

_WIDTH = 79  # of a description
_INDENT = 28  # the most columns before the help of an argument
_ARGUMENT = re.compile(r"argument (\S+): (.*)")


class UsageError(OptctxError):
    """The command line itself cannot be read."""


class Parser(argparse.ArgumentParser):
    """As argparse's parser, but errors raise UsageError, instead of printing the usage and exiting."""

    def __init__(self, *, example: str = "", description: str | None = None, **more: Any) -> None:
        """`example`: lines for the end of the help text. Only `description` is wrapped."""
        several = "s" if "\n" in example else ""
        super().__init__(
            description=textwrap.fill(description or "", _WIDTH),
            epilog=f"example{several}:\n{textwrap.indent(example, '  ')}" if example else None,
            formatter_class=partial(argparse.RawDescriptionHelpFormatter, max_help_position=_INDENT),
            **more,
        )
        self.suggest_on_error = False  # by argparse of Python 3.15, in words of its own

    @property
    def arguments(self) -> list[argparse.Action]:
        """The arguments, in order. argparse has no public list."""
        return self._actions

    @property
    def of_options(self) -> set[str]:
        """The flags whose values are options of LLVM or of clang."""
        found = (each for each in self._actions if getattr(each, "options", False))
        return {flag for each in found for flag in each.option_strings}

    def error(self, message: str) -> NoReturn:
        """Raise UsageError with argparse's message, or a better one."""
        if argument := _ARGUMENT.fullmatch(message):
            name, words = argument.groups()
            if words == "expected one argument":
                raise UsageError(f"{name}: expected a value; write {name}=VALUE if it begins with '-'")
            message = f"{name}: {words}"
        raise UsageError(f"{message}; see `{self.prog} --help`")


def add_talk(parser: argparse.ArgumentParser) -> None:
    """Add what says how much is printed beside the result."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument("-q", "--quiet", action="store_true", help="print results and errors only")
    group.add_argument("-v", "--verbose", action="store_true", help="print all that LLVM prints")


def unknown_arguments(parser: Parser, unknown: Sequence[str]) -> UsageError:
    """The error for arguments that a command does not have, with what to write for an LLVM option.

    `parser`: that of the command.
    """
    options = re.findall(r"--[\w-]+", parser.format_usage())
    for each in unknown:
        if setting := each.startswith("-") and _setting(each):
            where = "write" if "--set" in options else "give it to `optctx sweep FILE`:"
            return UsageError(
                f"`{parser.prog}` does not take {each!r}: it is an LLVM option; {where} --set {setting}"
            )
    first = unknown[0]
    words = f"`{parser.prog}` does not take {first!r}"
    if not first.startswith("-"):
        return UsageError(f"{words}; put quotes around a value that has spaces")
    return UsageError(f"{words}; see `{parser.prog} --help`")


def _setting(argument: str) -> str:
    """What to write after --set if the argument is an LLVM option; otherwise an empty string."""
    name, equals, value = argument.lstrip("-").partition("=")
    try:
        option = registry().get(name)
    except OptctxError:  # no LLVM to ask
        return ""
    if option is None:
        return ""
    if not equals:
        value = "true" if option.type in ("bool", "boolOrDefault") else "VALUE"
    return f"{name}={value}"
