"""What changed between the options of two LLVMs. They are matched by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import msgspec

from optctx.facts import UNKNOWN, Facts, OptionFacts, text
from optctx.wording import counted, html_table


class Change(msgspec.Struct, frozen=True):
    """A fact of an option that both libraries have. `what`: see `Difference`. `old`, `new`: as text."""

    name: str
    what: str
    old: str
    new: str


class Difference(msgspec.Struct, frozen=True):
    """`added` and `removed`: names that only the new or the old library has; a renamed option is in both.

    `changes`, by `what`: "refused" and "no longer refused"; "type", "storage", "default", "choices",
    "library", "alias"; "callback", "copied once", "written by LLVM", "occurrences queried" and "never read",
    each "yes" or "no"; "readers": functions that ceased and began to read it.
    """

    old: Facts
    new: Facts
    added: tuple[str, ...]
    removed: tuple[str, ...]
    changes: tuple[Change, ...]

    def __repr__(self) -> str:
        return f"<Difference: {', '.join(f'{number:,} {what}' for what, number in self.totals.items())}>"

    def _repr_html_(self) -> str:
        rows = ((each.what, each.name, each.old, each.new) for each in self.changes)
        return html_table(self.title, ("change", "option", "old", "new"), rows, len(self.changes))

    @property
    def title(self) -> str:
        """Both libraries on one line."""
        sides = (f"{each.title}, {counted(len(each.options), 'option')}" for each in (self.old, self.new))
        return " -> ".join(sides)

    @property
    def totals(self) -> dict[str, int]:
        """What -> number of options."""
        found = {"names in both": len(_by_name(self.old).keys() & _by_name(self.new).keys())}
        found |= {"added": len(self.added), "removed": len(self.removed)}
        return found | dict(sorted(Counter(change.what for change in self.changes).items()))


def compare(old: Facts, new: Facts) -> Difference:
    """Compare the options of two LLVMs."""
    before, after = _by_name(old), _by_name(new)
    changes: list[Change] = []
    for name in sorted(before.keys() & after.keys()):
        changes += _changes(name, before[name], after[name])
    return Difference(
        old,
        new,
        tuple(sorted(after.keys() - before.keys())),
        tuple(sorted(before.keys() - after.keys())),
        tuple(changes),
    )


def _by_name(facts: Facts) -> dict[str, OptionFacts]:
    return {each.name: each for each in facts.options}


def _changes(name: str, old: OptionFacts, new: OptionFacts) -> Iterator[Change]:
    before = _texts(old)
    for what, after in _texts(new).items():
        if before[what] != after and not (what == "library" and UNKNOWN in (before[what], after)):
            yield Change(name, what, before[what], after)
    if (old.scope == "process") != (new.scope == "process"):
        what = "refused" if new.scope == "process" else "no longer refused"
        yield Change(name, what, old.reason or old.scope, new.reason or new.scope)
    if old.readers is not None and new.readers is not None:
        ceased, began = _functions(old) - _functions(new), _functions(new) - _functions(old)
        if ceased or began:
            yield Change(name, "readers", _listed(ceased), _listed(began))


def _texts(facts: OptionFacts) -> dict[str, str]:
    return {
        "type": facts.type,
        "storage": facts.storage,
        "default": text(facts.default),
        "choices": ", ".join(facts.choices),
        "library": facts.library,
        "alias": facts.alias_of,
        "callback": _yes(facts.callback),
        "copied once": _yes(facts.copied_once),
        "written by LLVM": _yes(facts.sum("stores") > 0),
        "occurrences queried": _yes(facts.sum("occurrences") > 0),
        "never read": _yes(facts.never_read),
    }


def _yes(holds: bool) -> str:
    return "yes" if holds else "no"


def _functions(facts: OptionFacts) -> set[str]:
    """By name without parameters and clones: those differ between compilers and releases."""
    return {each.partition(" [clone")[0].partition("(")[0] or each for each in facts.read_by}


def _listed(functions: set[str]) -> str:
    return "; ".join(sorted(functions))
