"""What LLVM read for a file, as JSON and CSV."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from optctx import Log, Read, Unread
from optctx.facts import text
from optctx.wording import counted

__all__ = ["Recorded"]


class Recorded(msgspec.Struct, frozen=True):
    """What a log has, as plain data, which can come from another process."""

    read: tuple[Read, ...]
    unread: tuple[Unread, ...]

    @classmethod
    def of(cls, log: Log) -> Recorded:
        """All of a log whose block has ended."""
        return cls(tuple(log.reads.values()), tuple(log.unread))

    def summary(self) -> str:
        """How many options were read, and how many overrides were not."""
        return f"{counted(len(self.read), 'option')} read, {counted(len(self.unread), 'override')} not read"

    def rows(self) -> Iterator[Sequence[str]]:
        """Headings, and a row for each option that was read and each override that was not.

        Several values or functions are separated by "; ".
        """
        yield "option", "read", "value", "functions", "note"
        for read in self.read:
            values, functions = "; ".join(map(text, read.values)), "; ".join(read.functions)
            yield read.name, "true", values, functions, read.note
        for unread in self.unread:
            yield unread.name, "false", text(unread.value), "", unread.cause
