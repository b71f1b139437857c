"""A mutation as data: one plausible mistake, as a text that takes the place of another one in the code."""

from __future__ import annotations

import functools
import pathlib
import re
from dataclasses import dataclass

__all__ = ["CORE", "MUTATIONS", "CannotMutateError", "Mutation", "mutated"]

_SUFFIXES = (".cpp", ".hpp", ".py")


class CannotMutateError(Exception):
    """The source has changed, and the mutation must be adapted to it."""


@dataclass(frozen=True)
class Mutation:
    name: str
    breaks: str  # the promise that does not hold any more, as a sentence
    near: str  # the tests of its subject, which run first
    before: str  # occurs exactly once in the code
    after: str

    def file(self, root: pathlib.Path) -> str:
        """Where the text to change is, from the repository's root.

        Raises CannotMutateError if it does not occur exactly once.
        """
        found = [name for name, text in _code(root).items() for _ in range(text.count(self.before))]
        if len(found) != 1:
            raise CannotMutateError(
                f"{self.name}: the text to change is in {', '.join(found) or 'no file'}; expected it once; "
                f"adapt the mutation:\n{self.before}"
            )
        return found[0]


@functools.cache
def _code(root: pathlib.Path) -> dict[str, str]:
    files = [path for folder in ("native", "optctx") for path in (root / folder).rglob("*")]
    return {str(path.relative_to(root)): path.read_text() for path in files if path.suffix in _SUFFIXES}


def mutated(mutation: Mutation, root: pathlib.Path) -> str:
    """The text of the file with the mutation. Raises CannotMutateError."""
    return _code(root)[mutation.file(root)].replace(mutation.before, mutation.after)


def _read(text: str) -> dict[str, list[Mutation]]:
    """By the tests of their subject."""
    found: dict[str, list[Mutation]] = {}
    for group in re.split("(?m)^== ", text)[1:]:
        near, _, changes = group.partition("\n")
        found[near] = []
        for change in re.split("(?m)^(?=[a-z-]+: )", changes)[1:]:
            head, *lines = change.rstrip("\n").split("\n")
            name, breaks = head.split(": ", 1)
            before, after = ("\n".join(line[1:] for line in lines if line[:1] != sign) for sign in "+-")
            found[near].append(Mutation(name, breaks, near, before, after))
    return found


_BY_TESTS = _read(pathlib.Path(__file__).with_name("mutations.txt").read_text())
MUTATIONS = {each.name: each for group in _BY_TESTS.values() for each in group}
CORE = tuple(_BY_TESTS)  # the tests, in the order in which they run
