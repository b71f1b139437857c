"""Declared options as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict

from optctx.lab.declared.model import DeclaredOption

__all__ = ["as_json"]


def as_json(options: Iterable[DeclaredOption]) -> str:
    """A list of objects with the fields of `DeclaredOption`; `choices` is a list of name, help and number."""
    return json.dumps([_plain(option) for option in options], indent=1)


def _plain(option: DeclaredOption) -> dict[str, object]:
    choices = [
        {"name": name, "help": text, "number": number} for name, (text, number) in option.choices.items()
    ]
    return {**asdict(option), "choices": choices}
