"""Options given as the fields of a dataclass, such as those of `optctx export --format python`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass

from optctx.errors import OptionTypeError, shown

__all__ = ["given_options"]


def given_options(options: object) -> dict[str, object]:
    """Name of an option -> its value, for each field that is not None, in nested dataclasses as well.

    Raises OptionTypeError for anything but an instance of a dataclass, and for an option that is given twice.
    """
    if not is_dataclass(options) or isinstance(options, type):
        what = (
            f"the class {options.__name__}; make an instance" if isinstance(options, type) else shown(options)
        )
        raise OptionTypeError(
            "options are an instance of a dataclass, as `optctx export --format python` declares it, found "
            f"{what}"
        )
    found: dict[str, object] = {}
    for name, value in _given(options):
        if name in found:
            raise OptionTypeError(f"cannot set {name!r} twice; leave one of the two fields None")
        found[name] = value
    return found


def _given(options: object) -> Iterator[tuple[str, object]]:
    for each in fields(options):  # type: ignore[arg-type]  # an instance of a dataclass
        value = getattr(options, each.name)
        if is_dataclass(value) and not isinstance(value, type):
            yield from _given(value)
        elif value is not None:
            yield each.metadata.get("option", each.name.replace("_", "-")), value
