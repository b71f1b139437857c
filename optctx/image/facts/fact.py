"""What the rest of the code asks an image for: functions and objects of LLVM, by what they are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Generic, NamedTuple, TypeVar

Form = TypeVar("Form")


class Fact(NamedTuple, Generic[Form]):
    """A function or an object of LLVM. `what`: its name in LLVM's headers.

    `names`: (symbol, what is true under that name), newest first.
    """

    what: str
    names: tuple[tuple[str, Form], ...]


class Found(NamedTuple, Generic[Form]):
    """A fact as one image has it."""

    address: int
    symbol: str
    form: Form


class Family(NamedTuple):
    """Functions whose symbols start with `prefix` and hold `infix`: overrides, instances of a template."""

    what: str
    prefix: str
    infix: str = ""


def named(what: str, *symbols: str) -> Fact[None]:
    """Make a fact that is the same under each of its names."""
    return Fact(what, tuple((symbol, None) for symbol in symbols))


def exported(symbol: str) -> Fact[None]:
    """Make a fact of LLVM-C, where a function's name is its symbol."""
    return named(symbol, symbol)


def expected(facts: Iterable[Fact[Any] | Family]) -> str:
    """Name the facts and their symbols, for the reason of a refusal."""
    return "expected " + ", ".join(f"{fact.what} (the symbol {_shown(fact)})" for fact in facts)


def _shown(fact: Fact[Any] | Family) -> str:
    if isinstance(fact, Family):
        return f"{fact.prefix}...{fact.infix}..." if fact.infix else f"{fact.prefix}..."
    return " or ".join(symbol for symbol, _ in fact.names)
