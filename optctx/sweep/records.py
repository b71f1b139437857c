"""Rows as JSON and CSV for programs, and back."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from typing import Any, cast

from optctx.sweep.row import STATES, Row

__all__ = ["as_csv", "as_json", "columns", "from_cells", "from_record", "record", "to_cells", "to_line"]

_NUMBERS = ("instructions", "object_size", "seconds")
_COLUMNS = ("state", *_NUMBERS, "agrees", "digest", "error", "difference")
_AGREES = {"": None, "true": True, "false": False}


def as_json(rows: Sequence[Row]) -> str:
    """A list of objects, one per row, with the names of `Row`.

    Times are in seconds. Numbers are null unless the state is "ok". Only baselines have the name "baseline".
    """
    return json.dumps([record(row) for row in rows], indent=2)


def as_csv(rows: Sequence[Row]) -> str:
    """A header and a line per row. Numbers are empty unless the state is "ok"."""
    names = list(rows[0].options) if rows else []
    return "".join(map(to_line, [columns(names), *map(to_cells, rows)]))


def columns(names: Sequence[str]) -> list[str]:
    """The header of CSV for a sweep over these options."""
    return ["file", *names, *_COLUMNS]


def record(row: Row) -> dict[str, Any]:
    """The fields of a row in JSON."""
    numbers = {name: getattr(row, name) if row.state == "ok" else None for name in _NUMBERS}
    fields: dict[str, Any] = {"file": row.file, "options": row.options, "state": row.state, **numbers}
    fields.update(agrees=row.agrees, digest=row.digest, error=row.error, difference=row.difference)
    return {**fields, "baseline": True} if row.baseline else fields


def from_record(fields: dict[str, Any]) -> Row:
    """The row that a record describes. Raises KeyError, TypeError or ValueError for anything else."""
    agrees = fields["agrees"]
    if agrees not in (None, True, False) or not isinstance(fields["options"], dict):
        raise ValueError(agrees)
    return _row(fields, {str(name): str(value) for name, value in fields["options"].items()}, agrees)


def to_cells(row: Row) -> list[str]:
    """The cells of a row in CSV."""
    fields = record(row)
    agrees = "" if row.agrees is None else str(row.agrees).lower()
    seconds = f"{row.seconds:.6f}" if row.state == "ok" else ""
    texts = {**fields, "agrees": agrees, "seconds": seconds}
    plain = ("" if texts[name] is None else str(texts[name]) for name in _COLUMNS)
    return [row.file, *row.options.values(), *plain]


def from_cells(names: Sequence[str], cells: Sequence[str]) -> Row:
    """The row of a CSV line. Raises KeyError or ValueError for anything else."""
    options = dict(zip(names, cells[1:], strict=False))
    fields = dict(zip(_COLUMNS, cells[1 + len(names) :], strict=True))
    return _row({"file": cells[0], **fields}, options, _AGREES[fields["agrees"]])


def to_line(cells: Sequence[str]) -> str:
    """One line of CSV, with its end."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerow(cells)  # so that it quotes cells with "\r" and with "\n"
    return out.getvalue().removesuffix("\r\n") + "\n"


def _row(fields: dict[str, Any], options: dict[str, str], agrees: bool | None) -> Row:
    if fields["state"] not in STATES:
        raise ValueError(fields["state"])
    return Row(
        options=options,
        instructions=int(fields["instructions"] or 0),
        object_size=int(fields["object_size"] or 0),
        seconds=float(fields["seconds"] or 0),
        agrees=agrees,
        digest=str(fields["digest"]),
        difference=str(fields["difference"]),
        state=cast(Any, fields["state"]),
        error=str(fields["error"]),
        file=str(fields["file"]),
    )
