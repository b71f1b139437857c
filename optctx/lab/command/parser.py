"""The argument parser of all commands. An error is one line; each help text ends with an example."""

from __future__ import annotations

import argparse
import re
import textwrap
from collections.abc import Sequence
from functools import partial
from typing import Any, NoReturn

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


def unknown_arguments(parser: Parser, unknown: Sequence[str]) -> UsageError:
    """The error for arguments that a command does not have. `parser`: that of the command."""
    words = f"`{parser.prog}` does not take {unknown[0]!r}"
    if not unknown[0].startswith("-"):
        return UsageError(f"{words}; put quotes around a value that has spaces")
    settable = "; an option of LLVM is set by --set NAME=VALUE" if "--set" in parser.format_usage() else ""
    return UsageError(f"{words}{settable}; see `{parser.prog} --help`")
