"""What LLVM read for a file, as JSON and CSV."""

from __future__ import annotations

import csv
import io

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

    def as_json(self) -> str:
        """One object: `read` and `unread`, lists of the fields of `Read` and `Unread`."""
        return msgspec.json.format(msgspec.json.encode(self)).decode()

    def as_csv(self) -> str:
        """A header, and a line for each option that was read and each override that was not.

        Several values or functions are separated by "; ".
        """
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["option", "read", "value", "functions", "note"])
        for read in self.read:
            values, functions = "; ".join(map(text, read.values)), "; ".join(read.functions)
            writer.writerow([read.name, "true", values, functions, read.note])
        for unread in self.unread:
            writer.writerow([unread.name, "false", text(unread.value), "", unread.cause])
        return out.getvalue()
