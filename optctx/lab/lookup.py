"""What an LLVM's options are, saved, read back and compared. The options of two LLVMs are matched by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from optctx.errors import OptctxError, clipped, shown
from optctx.facts import UNKNOWN, Facts, OptionFacts, Plain, text
from optctx.wording import counted, html_table

MOST_BYTES = 64 << 20  # of a file

_COLUMNS = ("name", "type", "value", "default", "scope", "alias_of", "library", "storage", "trust", "help")


def facts_as_json(facts: Facts) -> str:
    """One object with the fields of `Facts`; `load_facts` reads it back."""
    return msgspec.json.format(msgspec.json.encode(facts), indent=1).decode()


def facts_as_rows(facts: Facts) -> Iterator[Sequence[str]]:
    """Headings, and a row for each option. Several readers are separated by "; "."""
    yield *_COLUMNS, "read_by"
    for each in facts.options:
        cells = (getattr(each, name) for name in _COLUMNS)
        words = [cell if isinstance(cell, str) else text(cell) for cell in cells]
        yield *words, "; ".join(each.read_by)


def load_facts(data: bytes, where: str) -> Facts:
    """Read what `facts_as_json` made. `where`: names the source in errors.

    Raises OptctxError if it is something else.
    """
    try:
        facts = msgspec.json.decode(data, type=Facts)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        words = clipped(str(error)) if isinstance(error, msgspec.DecodeError) else "it nests too deeply"
        if not words.startswith("JSON"):
            words = words[:1].lower() + words[1:]
        raise _unusable(where, words) from None
    for option in facts.options:
        if any(map(_is_too_large, (option.default, option.value))):
            raise _unusable(where, f"expected values of {shown(option.name)} of at most 64 bits")
    names = Counter(each.name for each in facts.options)
    if len(names) < len(facts.options):
        [(twice, _)] = names.most_common(1)
        raise _unusable(where, f"expected each option once, found {shown(twice)} twice")
    return facts


def _is_too_large(value: Plain) -> bool:
    items = value if isinstance(value, list) else [value]
    return any(isinstance(item, int) and not -(1 << 63) <= item < 1 << 64 for item in items)


def _unusable(where: str, words: str) -> OptctxError:
    return OptctxError(
        f"cannot use {where} as LLVM's options: {words}; `optctx options --format json` writes such a file"
    )


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
