"""Rows as a table for people, and as JSON and CSV for programs."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from optctx.sweep.row import Row

__all__ = ["as_csv", "as_json", "as_table"]

_DIGEST_SHOWN = 12  # hexadecimal digits in the table; JSON and CSV have all 64


def as_table(rows: Sequence[Row]) -> Table:
    """A rich table: option values, IR instructions, object size, compile time, digest, agreement."""
    names = list(rows[0].options) if rows else []
    verified = any(row.agrees is not None for row in rows)
    table = Table(header_style="bold")
    for heading in [*names, "IR instructions", "object bytes", "ms"]:
        table.add_column(heading, justify="right")
    table.add_column("object")
    if verified:
        table.add_column("fresh process")
    for row in rows:
        numbers = [str(row.instructions), str(row.object_size), f"{row.seconds * 1e3:.1f}"]
        # Text, so that nothing in an option's value is taken for markup
        line = [Text(cell) for cell in [*row.options.values(), *numbers, row.digest[:_DIGEST_SHOWN]]]
        if verified:
            line.append(Text("same", style="green") if row.agrees else Text("DIFFERS", style="bold red"))
        table.add_row(*line)
    return table


def as_json(rows: Sequence[Row]) -> str:
    """A list of objects, one per row, with the names of `Row`; times in seconds."""
    return json.dumps([dataclasses.asdict(row) for row in rows], indent=2)


def as_csv(rows: Sequence[Row]) -> str:
    """A header and a line per row, the options first; "agrees" is empty if nothing was verified."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    names = list(rows[0].options) if rows else []
    writer.writerow([*names, "instructions", "object_size", "seconds", "agrees", "digest"])
    for row in rows:
        agrees = "" if row.agrees is None else str(row.agrees).lower()
        numbers = [row.instructions, row.object_size, f"{row.seconds:.6f}"]
        writer.writerow([*row.options.values(), *numbers, agrees, row.digest])
    return out.getvalue()
