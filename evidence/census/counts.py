"""What a census counts of the facts of an LLVM: options with a property, and of each kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from evidence.reads.signature import signature_of
from optctx.facts import Facts, OptionFacts, Reader

_WHAT = ("loads", "stores", "addresses", "occurrences", "positions")
_FORMS = {"list": "list", "bits": "bits", "string": "string", "other": "class"}


def constructs(reader: Reader) -> bool:
    """Whether the function is a constructor: LLVM reads the option while it makes an object."""
    return bool(signature_of(reader.function).constructs)


FLAGS: dict[str, Callable[[OptionFacts], bool]] = {
    "never read": lambda facts: facts.never_read,
    "readers not known": lambda facts: facts.readers is None,
    "read in constructors": lambda facts: any(map(constructs, facts.readers or ())),
    "read only in constructors": lambda facts: (
        bool(facts.readers) and all(map(constructs, facts.readers or ()))
    ),
    "copied once": lambda facts: facts.copied_once,
    "written by LLVM": lambda facts: facts.sum("stores") > 0,
    "address taken": lambda facts: facts.sum("addresses") > 0,
    "callback": lambda facts: facts.callback,
    "occurrences queried": lambda facts: facts.sum("occurrences") > 0,
    "position queried": lambda facts: facts.sum("positions") > 0,
    "refused": lambda facts: facts.scope == "process",
}
"""Property -> whether an option has it. LLVM may also write through an address that it took."""


def flags(facts: OptionFacts) -> list[str]:
    """Those of `FLAGS` that hold."""
    return [name for name, holds in FLAGS.items() if holds(facts)]


def totals(facts: Facts) -> dict[str, dict[str, int]]:
    """Subject -> what -> number: of instructions under "instructions", elsewhere of options."""
    real = [option for option in facts.options if not option.alias_of]
    readers = {name for option in real for name in option.read_by}
    return {
        "options": {
            "names": len(facts.options),
            "options": len(real),
            "aliases": len(facts.options) - len(real),
            "functions that read them": len(readers),
        },
        "instructions": {what: sum(option.sum(what) for option in real) for what in _WHAT},
        "flags": {flag: sum(map(holds, real)) for flag, holds in FLAGS.items()},
        "scope": counts(option.scope for option in real),
        "refused because": counts(option.reason for option in real if option.scope == "process"),
        "type": counts(option.type for option in real),
        "form": counts(_FORMS.get(option.type, "scalar") for option in real),
        "storage": counts(option.storage for option in real),
        "library": counts(option.library for option in real),
        "category": counts(category for option in real for category in option.categories),
    }


def counts(values: Iterable[str]) -> dict[str, int]:
    """How often each value comes, the most frequent one first."""
    return dict(sorted(Counter(values).items(), key=lambda item: (-item[1], item[0])))
