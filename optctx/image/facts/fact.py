"""Find in an image what the rest of the code asks for by what it is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Generic, NamedTuple, TypeVar

from optctx._native import Image, Symbol
from optctx.errors import UnsupportedImageError
from optctx.image.findings import findings_of

__all__ = ["Fact", "Family", "Found", "find", "find_members", "find_object", "lacking", "named", "need"]

Form = TypeVar("Form")


class Fact(Generic[Form]):
    """A function or an object of LLVM. `names`: (symbol, what is true under that name), newest first."""

    __slots__ = ("names", "what")

    def __init__(self, what: str, names: tuple[tuple[str, Form], ...]) -> None:
        """`what`: as LLVM's headers call it."""
        self.what = what
        self.names = names


class Found(Generic[Form]):
    """A fact as one image has it."""

    __slots__ = ("address", "form", "symbol")

    def __init__(self, address: int, symbol: str, form: Form) -> None:
        self.address = address
        self.symbol = symbol
        self.form = form


class Family(NamedTuple):
    """Functions whose symbols start with `prefix` and hold `infix`: overrides, instances of a template."""

    what: str
    prefix: str
    infix: str = ""


def named(what: str, *symbols: str) -> Fact[None]:
    """A fact that is the same under each of its names."""
    return Fact(what, tuple((symbol, None) for symbol in symbols))


def find(image: Image, fact: Fact[Form]) -> Found[Form] | None:
    """The first of the fact's names that the image has; None if it has none of them."""
    for symbol, form in fact.names:
        found = findings_of(image).symbol(symbol)
        if found is not None:
            return Found(found.address, symbol, form)
    return None


def find_object(image: Image, fact: Fact[Form]) -> Symbol | None:
    """The same for a variable: with its size, and only if nothing else is at its address."""
    found = find(image, fact)
    symbol = findings_of(image).object_at(found.address) if found is not None else None
    return symbol if found is not None and symbol is not None and symbol.address == found.address else None


def find_members(image: Image, families: Iterable[Family]) -> dict[Family, list[Symbol]]:
    """Every function of each family, by address. The first time is a pass over all names of the library."""
    asked = list(families)
    found = findings_of(image).families([(family.prefix, family.infix) for family in asked])
    return dict(zip(asked, found, strict=True))


def need(image: Image, fact: Fact[Form]) -> Found[Form]:
    """Like `find`; raises UnsupportedImageError for a fact that the image lacks."""
    found = find(image, fact)
    if found is None:
        raise UnsupportedImageError(f"{image.path}: {_expected([fact])}, found none")
    return found


def lacking(image: Image, facts: Iterable[Fact[Any] | Family]) -> str:
    """What of the facts the image lacks, as the reason of a refusal; empty if it has them all."""
    facts = list(facts)
    families = [fact for fact in facts if isinstance(fact, Family)]
    members = find_members(image, families) if families else {}
    missing = [
        fact
        for fact in facts
        if not (members[fact] if isinstance(fact, Family) else find(image, fact) is not None)
    ]
    return f"{_expected(missing)}, found none" if missing else ""


def _expected(facts: Iterable[Fact[Any] | Family]) -> str:
    return "expected " + ", ".join(f"{fact.what} (the symbol {_shown(fact)})" for fact in facts)


def _shown(fact: Fact[Any] | Family) -> str:
    if isinstance(fact, Family):
        return f"{fact.prefix}...{fact.infix}..." if fact.infix else f"{fact.prefix}..."
    return " or ".join(symbol for symbol, _ in fact.names)
