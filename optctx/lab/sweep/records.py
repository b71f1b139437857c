"""Rows as JSON and CSV for programs, and back."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Sequence
from typing import Any, cast

from optctx.errors import shown
from optctx.lab.sweep.row import STATES, Row
from optctx.plain_data import DataError

__all__ = ["as_csv", "as_json", "columns", "from_cells", "from_record", "record", "to_cells", "to_line"]

_NUMBERS = ("instructions", "object_size", "seconds")
_COLUMNS = ("state", *_NUMBERS, "agrees", "digest", "error", "difference")
_WHOLE, _SECONDS = re.compile(r"[0-9]{0,19}"), re.compile(r"[0-9]{0,19}(?:\.[0-9]{1,19})?")
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


def from_record(fields: object) -> Row:
    """The row that a record describes. Raises DataError for anything else."""
    if not isinstance(fields, dict):
        raise DataError(f"expected an object, found {shown(fields)}")
    for name in ("file", "options", *_COLUMNS):
        if name not in fields:
            raise DataError(f"expected {name!r} in it, found none")
    agrees, options = fields["agrees"], fields["options"]
    if not (agrees is None or isinstance(agrees, bool)):
        raise DataError(f"expected true, false or null for 'agrees', found {shown(agrees)}")
    if not isinstance(options, dict):
        raise DataError(f"expected an object for 'options', found {shown(options)}")
    return _row(fields, {name: _text(options, name) for name in options}, agrees)


def to_cells(row: Row) -> list[str]:
    """The cells of a row in CSV."""
    fields = record(row)
    agrees = "" if row.agrees is None else str(row.agrees).lower()
    seconds = f"{row.seconds:.6f}" if row.state == "ok" else ""
    texts = {**fields, "agrees": agrees, "seconds": seconds}
    plain = ("" if texts[name] is None else str(texts[name]) for name in _COLUMNS)
    return [row.file, *row.options.values(), *plain]


def from_cells(names: Sequence[str], cells: Sequence[str]) -> Row:
    """The row of a CSV line. Raises DataError for anything else."""
    if len(cells) != len(columns(names)):
        raise DataError(f"expected {len(columns(names))} cells, found {len(cells)}")
    options = dict(zip(names, cells[1:], strict=False))
    fields: dict[str, Any] = dict(zip(_COLUMNS, cells[1 + len(names) :], strict=True))
    if fields["agrees"] not in _AGREES:
        raise DataError(f"expected true, false or nothing for 'agrees', found {shown(fields['agrees'])}")
    for name in _NUMBERS:
        fields[name] = _number(name, fields[name])
    return _row({"file": cells[0], **fields}, options, _AGREES[fields["agrees"]])


def to_line(cells: Sequence[str]) -> str:
    """One line of CSV, with its end."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerow(cells)  # so that it quotes cells with "\r" and with "\n"
    return out.getvalue().removesuffix("\r\n") + "\n"


def _row(fields: dict[str, Any], options: dict[str, str], agrees: bool | None) -> Row:
    if fields["state"] not in STATES:
        raise DataError(f"expected {', '.join(STATES)} for 'state', found {shown(fields['state'])}")
    for name in _NUMBERS:
        value = fields[name]
        kinds = (int, float) if name == "seconds" else (int,)
        if value is not None and (type(value) not in kinds or not 0 <= value < float("inf")):
            raise DataError(f"expected a number, 0 or more, for {name!r}, found {shown(value)}")
    return Row(
        options=options,
        instructions=fields["instructions"] or 0,
        object_size=fields["object_size"] or 0,
        seconds=float(fields["seconds"] or 0),
        agrees=agrees,
        digest=_text(fields, "digest"),
        difference=_text(fields, "difference"),
        state=cast(Any, fields["state"]),
        error=_text(fields, "error"),
        file=_text(fields, "file"),
    )


def _text(fields: dict[str, Any], name: str) -> str:
    if not isinstance(fields[name], str):
        raise DataError(f"expected a text for {shown(name)}, found {shown(fields[name])}")
    return str(fields[name])


def _number(name: str, cell: str) -> float | None:
    """The number in a cell of CSV. Raises DataError for one of more than 64 bits, and for another text."""
    form = _SECONDS if name == "seconds" else _WHOLE
    if not form.fullmatch(cell):
        raise DataError(f"expected a number, 0 or more, for {name!r}, found {shown(cell)}")
    if not cell:
        return None
    return float(cell) if name == "seconds" else int(cell)
