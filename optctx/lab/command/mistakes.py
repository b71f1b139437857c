"""Errors for unknown commands and arguments, with suggestions."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Sequence

from optctx import registry
from optctx.errors import OptctxError
from optctx.lab.command.parser import UsageError
from optctx.wording import did_you_mean, nearest
from optctx_program import FOLDERS

__all__ = ["check_command", "unknown_arguments"]

_PASSES_ON = ("-mllvm", "-Xllvm")  # flags of clang and other tools, before an LLVM option
_OWN = ("-h", "--help", "-V", "--version", *FOLDERS)


def check_command(argv: Sequence[str], commands: Iterable[str]) -> None:
    """Raise UsageError if the first argument names none of the commands. argparse's own error says less."""
    known = list(commands)
    first = argv[0]
    if first in known or first in _OWN:
        return
    if not first.startswith("-"):
        near = did_you_mean(nearest(first, known)) or "`optctx --help` lists them"
        raise UsageError(f"there is no command {first!r}; {near}")
    if setting := _setting(first):
        raise UsageError(f"{first!r} is an LLVM option; write optctx sweep FILE --set {setting}")
    hint = did_you_mean(nearest(first, _OWN)) or _advice(first)
    raise UsageError(f"expected a command before {first!r}; {hint or '`optctx --help` lists them'}")


def unknown_arguments(parser: argparse.ArgumentParser, unknown: Sequence[str]) -> UsageError:
    """The error for arguments that a command does not have, with a suggestion for the first.

    `parser`: that of the command.
    """
    first = unknown[0]
    words = f"`{parser.prog}` does not take {first!r}"
    if not first.startswith("-"):
        return UsageError(f"{words}; put quotes around a value that has spaces")
    options = re.findall(r"--[\w-]+", parser.format_usage())
    passed_on = unknown[1] if first in _PASSES_ON and len(unknown) > 1 else first
    if setting := _setting(passed_on):
        where = "write" if "--set" in options else "give it to `optctx sweep FILE`:"
        what = "it is an LLVM option" if passed_on == first else f"{passed_on!r} is an LLVM option"
        return UsageError(f"{words}: {what}; {where} --set {setting}")
    if near := did_you_mean(nearest(first.partition("=")[0], options)):
        return UsageError(f"{words}; {near}")
    if advice := _advice(first):
        return UsageError(f"{words}: {advice}")
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


def _advice(argument: str) -> str:
    """What to use instead of a flag of clang, opt or llc; an empty string for other arguments."""
    from optctx.facts import advice

    try:
        return advice(argument.partition("=")[0])
    except OptctxError:
        return ""
