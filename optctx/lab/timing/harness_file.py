"""Harnesses in TOML: every mistake is one error that names the file and the argument."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from optctx.errors import OptctxError, shown
from optctx.lab.timing.harness import Array, Harness, Value
from optctx.toml import quoted
from optctx.wording import did_you_mean, nearest

__all__ = ["from_table", "to_text"]

_KEYS = ("entry", "returns", "repeat", "libraries", "arguments")
_ARRAY = ("array", "shape", "fill", "seed", "low", "high", "output", "contents")
_VALUE = ("value", "type")


def from_table(table: Mapping[str, Any], name: str) -> Harness:
    """The harness in a table of TOML; `name` stands for the file in an OptctxError."""
    try:
        return _harness(table)
    except OptctxError as error:
        raise OptctxError(f"cannot use the harness {shown(name)}: {error}") from None


def _harness(table: Mapping[str, Any]) -> Harness:
    _check_keys(table, _KEYS)
    if "entry" not in table:
        raise OptctxError('it names no entry point; write entry = "name of the function"')
    arguments = _list(table, "arguments")
    returns = table.get("returns")
    return Harness(
        entry=table["entry"],
        arguments=tuple(_argument(place, each) for place, each in enumerate(arguments)),
        returns=None if returns == "none" else returns,
        repeat=table.get("repeat"),
        libraries=tuple(_list(table, "libraries")),
    )


def _argument(place: int, table: Any) -> Array | Value:
    try:
        if not isinstance(table, dict):
            raise OptctxError(f"expected a table, found {shown(table)}")
        if ("array" in table) == ("value" in table):
            raise OptctxError('expected either array = "type" or value = number')
        if "value" in table:
            _check_keys(table, _VALUE)
            return Value(**table)
        _check_keys(table, _ARRAY)
        given = {**table, "type": table["array"], "shape": tuple(_list(table, "shape"))}
        del given["array"]
        if not isinstance(given.get("output", False), bool):
            raise OptctxError(f"output is true or false, found {shown(given['output'])}")
        if "contents" in given:
            given["contents"] = _contents(given["contents"])
        return Array(**given)
    except OptctxError as error:
        raise OptctxError(f"argument {place + 1}: {error}") from None


def _contents(text: object) -> bytes:
    """From base64: a kernel may be called with arrays of a program."""
    try:
        if isinstance(text, str):
            return base64.b64decode(text, validate=True)
    except ValueError:
        pass
    raise OptctxError(f"contents are bytes in base64, found {shown(text)}")


def _list(table: Mapping[str, Any], key: str) -> list[Any]:
    found = table.get(key, [])
    if not isinstance(found, list):
        raise OptctxError(f"{key} is a list, found {shown(found)}")
    return found


def _check_keys(table: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for key in table:
        if key not in known:
            near = did_you_mean(nearest(key, known)) or f"expected {', '.join(known)}"
            raise OptctxError(f"nothing is called {shown(key)} here; {near}")


def to_text(harness: Harness) -> str:
    """The harness in TOML, without what is as by default."""
    lines = [f"entry = {quoted(harness.entry)}"]
    if harness.returns is not None:
        lines.append(f"returns = {quoted(harness.returns)}")
    if harness.repeat is not None:
        lines.append(f"repeat = {harness.repeat}")
    if harness.libraries:
        lines.append(f"libraries = [{', '.join(map(quoted, harness.libraries))}]")
    for argument in harness.arguments:
        lines += ["", "[[arguments]]"]
        if isinstance(argument, Value):
            lines += [f"value = {_text(argument.value)}", f"type = {quoted(argument.type)}"]
            continue
        lines.append(f"array = {quoted(argument.type)}")
        lines += [
            f"{field.name} = {_text(getattr(argument, field.name))}"
            for field in fields(Array)
            if field.name != "type" and getattr(argument, field.name) != field.default
        ]
    return "\n".join(lines) + "\n"


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return f"[{', '.join(map(str, value))}]"
    if isinstance(value, bytes):
        return quoted(base64.b64encode(value).decode())
    return quoted(value) if isinstance(value, str) else repr(value)  # inf and nan as Python has them
