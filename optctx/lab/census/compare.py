"""What changed between the censuses of two libraries. Options are matched by name."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass

from optctx.facts.origins import UNKNOWN
from optctx.lab.census.facts import Census, OptionFacts
from optctx.wording import columns, counted

__all__ = ["Change", "Difference", "compare", "difference_as_json", "difference_lines"]

_LONGEST = 48  # characters of a value in a table


@dataclass(frozen=True)
class Change:
    """A fact of an option that both libraries have. `what`: see `Difference`. `old`, `new`: as text."""

    name: str
    what: str
    old: str
    new: str


@dataclass(frozen=True)
class Difference:
    """`added` and `removed`: names that only the new or the old library has; a renamed option is in both.

    `changes`, by `what`: "refused" and "no longer refused"; "type", "storage", "default", "library", "alias",
    "callback", "copied once"; "written by LLVM", "occurrences queried" and "never read", each "yes" or "no";
    "readers": functions that began and ceased to read it.
    """

    old: Census
    new: Census
    added: tuple[str, ...]
    removed: tuple[str, ...]
    changes: tuple[Change, ...]

    @property
    def totals(self) -> dict[str, int]:
        """What -> number of options."""
        found = {"names in both": len(_by_name(self.old).keys() & _by_name(self.new).keys())}
        found |= {"added": len(self.added), "removed": len(self.removed)}
        return found | dict(sorted(Counter(change.what for change in self.changes).items()))


def compare(old: Census, new: Census) -> Difference:
    """Compare two censuses."""
    before, after = _by_name(old), _by_name(new)
    changes = []
    for name in sorted(before.keys() & after.keys()):
        changes += _changes(name, before[name], after[name])
    return Difference(
        old,
        new,
        tuple(sorted(after.keys() - before.keys())),
        tuple(sorted(before.keys() - after.keys())),
        tuple(changes),
    )


def _by_name(census: Census) -> dict[str, OptionFacts]:
    return {name: facts for facts in census.options for name in facts.names}


def _changes(name: str, old: OptionFacts, new: OptionFacts) -> list[Change]:
    pairs = [
        ("type", old.type, new.type),
        ("storage", old.storage, new.storage),
        ("default", old.default, new.default),
        *([("library", old.library, new.library)] if UNKNOWN not in (old.library, new.library) else []),
        ("alias", old.alias_of, new.alias_of),
        *((what, _yes(before), _yes(after)) for what, before, after in _questions(old, new)),
    ]
    found = [Change(name, what, before, after) for what, before, after in pairs if before != after]
    if old.refused != new.refused:
        what = "refused" if new.refused else "no longer refused"
        found.append(Change(name, what, old.reason or old.scope, new.reason or new.scope))
    if old.readers is not None and new.readers is not None:
        before, after = _functions(old), _functions(new)
        if before != after:
            found.append(Change(name, "readers", _listed(before - after), _listed(after - before)))
    return found


def _questions(old: OptionFacts, new: OptionFacts) -> list[tuple[str, bool, bool]]:
    return [
        ("callback", old.callback, new.callback),
        ("copied once", old.copied_once, new.copied_once),
        ("written by LLVM", old.written, new.written),
        ("occurrences queried", old.occurrences_queried, new.occurrences_queried),
        ("never read", old.never_read, new.never_read),
    ]


def _yes(holds: bool) -> str:
    return "yes" if holds else "no"


def _functions(facts: OptionFacts) -> set[str]:
    """By name without parameters and clones: those differ between compilers and releases."""
    return {
        reader.function.partition(" [clone")[0].partition("(")[0] or reader.function
        for reader in facts.readers or ()
    }


def _listed(functions: set[str]) -> str:
    return "; ".join(sorted(functions))


def difference_as_json(difference: Difference) -> str:
    """One object: `old` and `new` (the libraries), `totals`, `added`, `removed` and `changes`."""
    libraries = {
        side: {name: getattr(census, name) for name in ("library", "build_id", "llvm", "llvmlite")}
        for side, census in (("old", difference.old), ("new", difference.new))
    }
    changes = [asdict(change) for change in difference.changes]
    return json.dumps(
        {
            **libraries,
            "totals": difference.totals,
            "added": difference.added,
            "removed": difference.removed,
            "changes": changes,
        },
        indent=1,
    )


def difference_lines(difference: Difference) -> list[str]:
    """Lines: the totals, the names that came and went, a table of changes. Readers are only counted."""
    lines = [f"old: {_title(difference.old)}", f"new: {_title(difference.new)}", ""]
    lines += columns([(what, f"{number:,}") for what, number in difference.totals.items()])
    for what, names in (("added", difference.added), ("removed", difference.removed)):
        lines += ["", f"{what}: {', '.join(names) or 'none'}"]
    rows = [
        (each.what, each.name, _short(each.old), _short(each.new))
        for each in difference.changes
        if each.what != "readers"
    ]
    if rows:
        lines += ["", *columns([("change", "option", "old", "new"), *sorted(rows)])]
    return lines


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _title(census: Census) -> str:
    release = f", llvmlite {census.llvmlite}, LLVM {census.llvm}" if census.llvm else ""
    return f"{census.library}{release}, {counted(len(census.options), 'option')}"
