"""A census as JSON and CSV, and read back from JSON."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import asdict, fields
from typing import Any

from optctx.errors import OptctxError, shown
from optctx.lab.census.facts import FLAGS, Census, OptionFacts, Reader
from optctx.plain_data import DataError, parse_json

__all__ = ["MOST_BYTES", "census_as_csv", "census_as_json", "load_census"]

MOST_BYTES = 64 << 20  # of a saved census

_FORMAT = 1
_HEAD = ("library", "build_id", "llvm", "llvmlite")
_TEXTS = ("name", "type", "form", "storage", "file", "library", "default", "scope", "reason", "alias_of")
_LISTS = ("names", "categories")
_BOOLS = ("callback", "copied_once")
_SUMS = ("loads", "stores", "addresses", "occurrences", "positions")


def census_as_json(census: Census) -> str:
    """One object: `census` (the format, 1), the library, `totals`, and `options` with their readers."""
    head = {name: getattr(census, name) for name in _HEAD}
    options = [{**asdict(facts), "flags": facts.flags()} for facts in census.options]
    return json.dumps({"census": _FORMAT, **head, "totals": census.totals, "options": options}, indent=1)


def census_as_csv(census: Census) -> str:
    """A header, and a line for each option. Several names, categories and readers are separated by "; "."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    flags = [flag.replace(" ", "_") for flag in FLAGS]
    writer.writerow([*_TEXTS, *_LISTS, "functions", *_SUMS, *flags, "readers"])
    for facts in census.options:
        readers = facts.readers or ()
        texts = [getattr(facts, name) for name in _TEXTS]
        lists = ["; ".join(getattr(facts, name)) for name in _LISTS]
        sums = [facts.sum(what) for what in _SUMS]
        holds = [str(holds(facts)).lower() for holds in FLAGS.values()]
        functions = "; ".join(reader.function for reader in readers)
        writer.writerow([*texts, *lists, len(readers), *sums, *holds, functions])
    return out.getvalue()


def load_census(data: bytes, where: str) -> Census:
    """Read what `census_as_json` made. `where`: names the source in errors.

    Raises OptctxError if it is something else.
    """
    try:
        found = parse_json(data)
    except DataError as error:
        what = "a census as JSON"
        raise OptctxError(f"cannot use {where} as {what}: {error}; take it again") from None
    if not isinstance(found, dict) or found.get("census") != _FORMAT:
        version = found.get("census") if isinstance(found, dict) else None
        what = "other JSON" if version is None else f"format {shown(version)}"
        raise _unexpected(where, f"a census of format {_FORMAT}", what)
    head = {name: _of_type(found, name, str, where) for name in _HEAD}
    options = [_facts(each, where) for each in _of_type(found, "options", list, where)]
    seen: set[str] = set()
    for facts in options:
        if facts.name in seen:
            raise _unexpected(where, "each option once", f"{shown(facts.name)} twice")
        seen.add(facts.name)
    return Census(**head, options=tuple(options))


def _facts(data: object, where: str) -> OptionFacts:
    if not isinstance(data, dict):
        raise _unexpected(where, "an object for each option", shown(data))
    fixed: dict[str, Any] = {name: _of_type(data, name, str, where) for name in _TEXTS}
    fixed.update({name: _of_type(data, name, bool, where) for name in _BOOLS})
    fixed.update({name: _texts(data, name, where) for name in _LISTS})
    readers = data.get("readers")
    if readers is not None:
        readers = tuple(_reader(each, where) for each in _of_type(data, "readers", list, where))
    return OptionFacts(**fixed, readers=readers)


def _reader(data: object, where: str) -> Reader:
    if not isinstance(data, dict):
        raise _unexpected(where, "an object for each reader", shown(data))
    kinds = {"function": str, "library": str, "constructor": bool, "copy": bool}
    return Reader(
        **{each.name: _of_type(data, each.name, kinds.get(each.name, int), where) for each in fields(Reader)}
    )


def _texts(data: dict[str, Any], name: str, where: str) -> tuple[str, ...]:
    texts = _of_type(data, name, list, where)
    if not all(isinstance(text, str) for text in texts):
        raise _unexpected(where, f"strings in {name!r}", shown(texts))
    return tuple(texts)


def _of_type(data: dict[str, Any], name: str, kind: type, where: str) -> Any:
    value = data.get(name)
    if type(value) is not kind:
        found = "none" if value is None else shown(value)
        raise _unexpected(where, f"{name!r} of type {kind.__name__}", found)
    return value


def _unexpected(where: str, expected: str, found: str) -> OptctxError:
    return OptctxError(f"cannot use {where}: expected {expected}, found {found}")
