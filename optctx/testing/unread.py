"""Finds the options of a test, or of the whole run, that LLVM did not read."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from optctx import OptionContext
from optctx.engine.attach import attach
from optctx.errors import UnreadOptionError

__all__ = ["MODES", "PROPERTY", "RunUnread", "Unread", "entered", "lines_of"]

MODES = ("report", "error", "ignore")
PROPERTY = "llvm_unread"  # of a test's report, which reaches xdist's controller and JUnit files


@dataclass
class Unread:
    """The arguments that LLVM did not read inside a context, and the reasons in words."""

    arguments: tuple[str, ...] = ()
    words: str = ""


@contextmanager
def entered(context: OptionContext, mode: str) -> Iterator[Unread]:
    """Enter a context. The end fills in what was not read, or raises UnreadOptionError in mode "error".

    A block that fails reports nothing. Nor does an engine that cannot tell what LLVM reads.
    """
    found = Unread()
    if mode == "ignore" or not attach().redirects:
        with context:
            yield found
        return
    judged = context.derive(unread="error")
    judged.__enter__()
    try:
        yield found
    except BaseException:
        judged.__exit__(*sys.exc_info())
        raise
    try:
        judged.__exit__(None, None, None)
    except UnreadOptionError as error:
        if mode == "error":
            raise
        found.arguments = tuple(word for word in context.args() if _name(word) in error.names)
        found.words = "; ".join(error.causes)


def _name(argument: str) -> str:
    return argument.lstrip("-").partition("=")[0]


@dataclass
class RunUnread:
    """The whole run's options that LLVM read in no process. None until a process has reported."""

    arguments: list[str] | None = None

    def add(self, arguments: Iterable[str]) -> None:
        """Add the report of one process: the arguments that LLVM did not read there."""
        own = list(arguments)
        known = self.arguments
        self.arguments = own if known is None else [argument for argument in known if argument in own]


def lines_of(reports: Sequence[object]) -> list[str]:
    """A line for each test with options that LLVM did not read."""
    return [
        f"{getattr(report, 'nodeid', '')}: {words}"
        for report in reports
        if getattr(report, "when", "") == "call"
        for name, words in getattr(report, "user_properties", ())
        if name == PROPERTY
    ]
