"""The argument parser of all commands. An error is one line; each help text ends with an example."""

from __future__ import annotations

import argparse
import re
import textwrap
from functools import partial
from typing import Any, NoReturn

from optctx.errors import OptctxError

_WIDTH = 79  # of a description
_INDENT = 28  # the most columns before the help of an argument
_ARGUMENT = re.compile(r"argument (\S+): (.*)")


class Parser(argparse.ArgumentParser):
    """As argparse's parser, but errors raise OptctxError, instead of printing the usage and exiting."""

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

    def error(self, message: str) -> NoReturn:
        """Raise OptctxError with argparse's message, or a better one."""
        if argument := _ARGUMENT.fullmatch(message):
            name, words = argument.groups()
            if words == "expected one argument":
                raise OptctxError(f"{name}: expected a value; write {name}=VALUE if it begins with '-'")
            message = f"{name}: {words}"
        if message.startswith("unrecognized arguments: -"):
            message += "; an option of LLVM is set by --set NAME=VALUE"
        raise OptctxError(f"{message}; see `{self.prog} --help`")
