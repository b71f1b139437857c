"""What a census counts: options with a property, and of each kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from evidence.census.readers import Census, CountedOption, Reader
from evidence.reads.signature import signature_of
from optctx.wording import columns

_WHAT = ("loads", "stores", "addresses", "occurrences", "positions")
_MOST = 12  # rows of a subject in a table
_FORMS = {"list": "list", "bits": "bits", "string": "string", "other": "class"}


def constructs(reader: Reader) -> bool:
    """Whether the function is a constructor: LLVM reads the option while it makes an object."""
    return signature_of(reader.function).constructs


FLAGS: dict[str, Callable[[CountedOption], bool]] = {
    "never read": lambda option: option.readers == () and not option.facts.alias_of,
    "readers not known": lambda option: option.readers is None,
    "read in constructors": lambda option: any(map(constructs, option.readers or ())),
    "read only in constructors": lambda option: (
        bool(option.readers) and all(map(constructs, option.readers or ()))
    ),
    "copied once": lambda option: option.copied_once,
    "written by LLVM": lambda option: option.sum("stores") > 0,
    "address taken": lambda option: option.sum("addresses") > 0,
    "callback": lambda option: option.callback,
    "occurrences queried": lambda option: option.sum("occurrences") > 0,
    "position queried": lambda option: option.sum("positions") > 0,
    "refused": lambda option: option.facts.scope == "process",
}
"""Property -> whether an option has it. LLVM may also write through an address that it took."""


def flags(option: CountedOption) -> list[str]:
    """Those of `FLAGS` that hold."""
    return [name for name, holds in FLAGS.items() if holds(option)]


def totals(census: Census) -> dict[str, dict[str, int]]:
    """Subject -> what -> number: of instructions under "instructions", elsewhere of options."""
    real = [option for option in census.options if not option.facts.alias_of]
    readers = {name for option in real for name in option.functions}
    return {
        "options": {
            "names": len(census.options),
            "options": len(real),
            "aliases": len(census.options) - len(real),
            "functions that read them": len(readers),
        },
        "instructions": {what: sum(option.sum(what) for option in real) for what in _WHAT},
        "flags": {flag: sum(map(holds, real)) for flag, holds in FLAGS.items()},
        "scope": counts(option.facts.scope for option in real),
        "refused because": counts(option.facts.reason for option in real if option.facts.scope == "process"),
        "type": counts(option.facts.type for option in real),
        "form": counts(_FORMS.get(option.facts.type, "scalar") for option in real),
        "storage": counts(option.facts.storage for option in real),
        "category": counts(category for option in real for category in option.facts.categories),
    }


def counts(values: Iterable[str]) -> dict[str, int]:
    """How often each value comes, the most frequent one first."""
    return dict(sorted(Counter(values).items(), key=lambda item: (-item[1], item[0])))


def totals_lines(totals: Mapping[str, Mapping[str, int]]) -> list[str]:
    """Lines with a table for each subject, the largest numbers of long ones."""
    lines: list[str] = []
    for subject, numbers in totals.items():
        rows = [(what, f"{number:,}") for what, number in list(numbers.items())[:_MOST]]
        if len(numbers) > _MOST:
            rest = list(numbers.values())[_MOST:]
            rows.append((f"{len(rest)} others", f"{sum(rest):,}"))
        if rows:
            lines += [*([""] if lines else []), f"{subject}:", *(f"  {line}" for line in columns(rows))]
    return lines
