"""What is worked out about a library's file, the same for every process (design/attach-fast.md).

Answers are plain data in bytes from the library's base, as `marshal` can write them, so that they can be kept
for the next process. Where the file itself shows that an answer fits, the answer is checked against the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from optctx._native import Library, Span, Symbol
from optctx.errors import UnsupportedImageError
from optctx.image.facts.fact import Fact, Family, Form, Found, expected

_NONE = 0  # number of no symbol
_Pattern = tuple[str, str]


class Findings:
    """Those of one library. `changed`: since they were taken over from an earlier process, if they were."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self.forget()

    def forget(self) -> None:
        """Begin with nothing."""
        self._symbols: dict[str, int] = {}
        self._objects: dict[int, int] = {}
        self._functions: dict[int, int] = {}
        self._families: dict[_Pattern, tuple[int, ...]] = {}
        self._answers: dict[str, tuple[Any, Any]] = {}
        self.changed = False

    def take_over(self, data: object) -> bool:
        """Begin with the `data` of an earlier process; False, and nothing, if they have another form."""
        kinds = (dict, dict, dict, dict, dict)
        if not isinstance(data, tuple) or tuple(map(type, data)) != kinds:
            return False
        self._symbols, self._objects, self._functions, self._families, self._answers = data
        self.changed = False
        return True

    def data(self) -> tuple[Any, ...]:
        """Return everything that `take_over` accepts."""
        return self._symbols, self._objects, self._functions, self._families, self._answers

    def settle(self) -> None:
        """Drop what only attaching asks for."""
        self._answers = {}

    def symbol(self, name: str) -> Symbol | None:
        """Find the function or object with this mangled name."""
        number = self._symbols.get(name)
        if number == _NONE:
            return None
        found = self._library.numbered(number) if number is not None else None
        if found is None or found.name != name:
            found = self._library.named(name)
            self._symbols[name] = _NONE if found is None else found.number
            self.changed = True
        return found

    def object_at(self, address: int) -> Symbol | None:
        """Find the object whose storage contains the address."""
        return self._at(self._objects, address, self._library.object_at)

    def function_at(self, address: int) -> Symbol | None:
        """Find the function whose code contains the address."""
        return self._at(self._functions, address, self._library.function_at)

    def _at(self, known: dict[int, int], address: int, ask: Callable[[int], Symbol | None]) -> Symbol | None:
        place = address - self._library.base
        number = known.get(place)
        if number == _NONE:
            return None
        found = self._library.numbered(number) if number is not None else None
        if found is None or not found.address <= address < found.address + found.size:
            found = ask(address)
            known[place] = _NONE if found is None else found.number
            self.changed = True
        return found

    # Facts: functions and objects of LLVM by what they are

    def find(self, fact: Fact[Form]) -> Found[Form] | None:
        """Find the first of the fact's names that the library has; None if it has none of them."""
        for symbol, form in fact.names:
            found = self.symbol(symbol)
            if found is not None:
                return Found(found.address, symbol, form)
        return None

    def need(self, fact: Fact[Form]) -> Found[Form]:
        """Find a fact as `find` does. Raises UnsupportedImageError if there is none."""
        found = self.find(fact)
        if found is None:
            raise UnsupportedImageError(f"{self._library.path}: {expected([fact])}, found none")
        return found

    def need_object(self, fact: Fact[Form]) -> Symbol:
        """Find a variable with its size, if nothing else is at its address. Raises as `need` does."""
        symbol = self.object_of(self.need(fact).symbol)
        if symbol is None:
            raise UnsupportedImageError(
                f"{self._library.path}: expected {fact.what} to be an object, found none"
            )
        return symbol

    def object_of(self, name: str) -> Symbol | None:
        """Find the variable with this mangled name, if nothing else is at its address."""
        named = self.symbol(name)
        if named is None:
            return None
        symbol = self.object_at(named.address)
        return symbol if symbol is not None and symbol.address == named.address else None

    def find_members(self, families: Iterable[Family]) -> dict[Family, list[Symbol]]:
        """Find every function of each family, by address. The first time is a pass over all names.

        In a stripped library nothing shows that those which it exports are all of them, so none counts.
        """
        if self._library.is_stripped:
            return {family: [] for family in families}
        asked = {family: (family.prefix, family.infix) for family in families}
        missing = [pattern for pattern in asked.values() if pattern not in self._families]
        if missing:
            for pattern, symbols in zip(missing, self._library.functions_named(missing), strict=True):
                self._families[pattern] = tuple(symbol.number for symbol in symbols)
            self.changed = True
        return {family: self._members(pattern) for family, pattern in asked.items()}

    def lacking(self, facts: Iterable[Fact[Any] | Family]) -> str:
        """Say which of the facts are missing, as the reason of a refusal; empty if there are all."""
        facts = list(facts)
        families = [fact for fact in facts if isinstance(fact, Family)]
        members = self.find_members(families) if families else {}
        missing = [
            fact
            for fact in facts
            if not (members[fact] if isinstance(fact, Family) else self.find(fact) is not None)
        ]
        return f"{expected(missing)}, found none" if missing else ""

    def _members(self, pattern: _Pattern) -> list[Symbol]:
        prefix, infix = pattern
        found = [self._library.numbered(number) for number in self._families[pattern]]
        members = [each for each in found if each is not None and each.name.startswith(prefix)]
        if len(members) == len(found) and all(infix in each.name[len(prefix) :] for each in members):
            return members
        [members] = self._library.functions_named([pattern])
        return members

    def pointers_to(self, address: int) -> list[tuple[int, int]]:
        """Return (its place, the address) of every pointer in the library's data to exactly this address."""
        base = self._library.base
        places = self.recall("pointers", address - base)
        if places is None:
            places = tuple(at - base for at, _ in self._library.pointers_into([Span(address, 1)]))
            self.keep("pointers", address - base, places)
        return [(place + base, address) for place in places]

    def recall(self, question: str, inputs: Any) -> Any:
        """Return the kept answer to a question; None unless it was kept for the same `inputs`."""
        known = self._answers.get(question)
        return known[1] if known is not None and known[0] == inputs else None

    def keep(self, question: str, inputs: Any, answer: Any) -> None:
        self._answers[question] = inputs, answer
        self.changed = True
