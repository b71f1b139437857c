"""A log as text for people, and as JSON and CSV for programs."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import asdict
from typing import TYPE_CHECKING

from optctx.registry.values import value_text
from optctx.wording import columns, counted

if TYPE_CHECKING:
    from optctx.records.log import Log, Read, Recorded

__all__ = ["log_as_csv", "log_as_json", "log_summary", "log_text", "read_cells"]

_NAME = re.compile(r"(?:\(anonymous namespace\)|operator\(\)|[^(])+")


def log_text(log: Log | Recorded) -> str:
    """Two tables as text, the options read and the overrides not read, and a summary."""
    reads, unread = log.reads, log.unread
    lines = []
    if reads:
        lines += columns([("option", "value", "read by"), *map(read_cells, reads.values())])
    if unread:
        rows = [(each.name, value_text(each.value), each.cause) for each in unread]
        lines += ["", *columns([("override", "value", "not read because"), *rows])]
    return "\n".join([*lines, "", log_summary(len(reads), len(unread))]).lstrip("\n")


def read_cells(read: Read) -> tuple[str, str, str]:
    """(name, values, functions without parameters and the note) of an option that was read."""
    functions = list(dict.fromkeys(_without_parameters(name) for name in read.functions))
    more = f" and {len(functions) - 1} more" if len(functions) > 1 else ""
    note = f" ({read.note})" if read.note else ""
    return read.name, " then ".join(map(value_text, read.values)), f"{functions[0]}{more}{note}"


def log_summary(reads: int, unread: int) -> str:
    """One line: how many options were read, and how many overrides were not."""
    return f"{counted(reads, 'option')} read, {counted(unread, 'override')} not read"


def log_as_json(log: Log | Recorded, *, unread_only: bool = False) -> str:
    """One object: `read` (unless `unread_only`) and `unread`, lists of the fields of `Read` and `Unread`."""
    data = {} if unread_only else {"read": [asdict(read) for read in log.reads.values()]}
    return json.dumps({**data, "unread": [asdict(unread) for unread in log.unread]}, indent=2)


def log_as_csv(log: Log | Recorded, *, unread_only: bool = False) -> str:
    """A header, and a line for each option that was read and each override that was not.

    Several values or functions are separated by "; ".
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["option", "read", "value", "functions", "note"])
    for read in () if unread_only else log.reads.values():
        values, functions = "; ".join(map(value_text, read.values)), "; ".join(read.functions)
        writer.writerow([read.name, "true", values, functions, read.note])
    for unread in log.unread:
        writer.writerow([unread.name, "false", value_text(unread.value), "", unread.cause])
    return out.getvalue()


def _without_parameters(function: str) -> str:
    """A demangled name up to its parameters. The name itself may contain parentheses."""
    name = _NAME.match(function)
    return name.group() if name else function
