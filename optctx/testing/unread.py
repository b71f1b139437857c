"""Which of the options of a test, or of the whole run, LLVM did not read."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from optctx.context import OptionContext
from optctx.engine.attach import attach
from optctx.errors import UnreadOptionError

__all__ = ["MODES", "PROPERTY", "RunUnread", "Unread", "entered", "lines_of"]

MODES = ("report", "error", "ignore")
PROPERTY = "llvm_unread"  # of a test's report: it reaches the process that reports, and JUnit files


@dataclass
class Unread:
    """What LLVM did not read inside a context: the arguments, and the words that say why."""

    arguments: tuple[str, ...] = ()
    words: str = ""


@contextmanager
def entered(context: OptionContext, mode: str) -> Iterator[Unread]:
    """Enter a context; what was not read is filled in afterwards, or an UnreadOptionError with mode "error".

    A block that fails says nothing of it. Nor does an engine that cannot know.
    """
    found = Unread()
    if mode == "ignore" or not attach().mechanism.tells_reads:
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
    """What no process read of the whole run's options; None before any process has run with some."""

    arguments: list[str] | None = None

    def add(self, arguments: Iterable[str]) -> None:
        """What one process did not read."""
        own = list(arguments)
        known = self.arguments
        self.arguments = own if known is None else [argument for argument in known if argument in own]


def lines_of(reports: Sequence[object]) -> list[str]:
    """A line for each test that has options that nothing read."""
    return [
        f"{getattr(report, 'nodeid', '')}: {words}"
        for report in reports
        if getattr(report, "when", "") == "call"
        for name, words in getattr(report, "user_properties", ())
        if name == PROPERTY
    ]
