"""Results of steps that need not be done again: what they read is the same as in one that is done."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Generic, TypeVar

from optctx import registry

Result = TypeVar("Result")
_Key = tuple[Hashable, frozenset[str], tuple[tuple[str, str], ...]]


class ByReads(Generic[Result]):
    """Results under their source and those of the options that the step read.

    A step is a function of its source and of the options that it reads, one after the other. With the same
    source and the same values of those, it would read the same ones and do the same.
    """

    def __init__(self) -> None:
        self._targets: dict[str, str] = {}
        self._read: dict[Hashable, list[frozenset[str]]] = {}  # by source, each once
        self._results: dict[_Key, Result] = {}

    def add(self, source: Hashable, options: Mapping[str, str], read: frozenset[str], result: Result) -> None:
        """Enter a result, if none is known. `read`: the names of those that were read, without aliases."""
        key = source, read, self._values(options, read)
        self._results.setdefault(key, result)
        sets = self._read.setdefault(source, [])
        if read not in sets:
            sets.append(read)

    def find(self, source: Hashable, options: Mapping[str, str]) -> tuple[frozenset[str], Result] | None:
        """What was read, and the result; None if it is not known."""
        for read in tuple(self._read.get(source, ())):
            key = source, read, self._values(options, read)
            if key in self._results:
                return read, self._results[key]
        return None

    def _values(self, options: Mapping[str, str], read: frozenset[str]) -> tuple[tuple[str, str], ...]:
        """What the options that were read have, without aliases."""
        targets = ((self._target(name), text) for name, text in options.items())
        return tuple(sorted(each for each in targets if each[0] in read))

    def _target(self, name: str) -> str:
        if name not in self._targets:
            self._targets[name] = registry()[name].alias_of or name
        return self._targets[name]
