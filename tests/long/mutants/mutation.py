"""A mutation as data: one plausible mistake, as a text that takes the place of another one in the code."""

from __future__ import annotations

import functools
import pathlib
import re
from dataclasses import dataclass

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


def read_mutations(text: str) -> list[Mutation]:
    """Read `mutations.txt`. Raises ValueError if something is not a change as in a diff."""
    found = []
    for group in re.split("(?m)^== ", text)[1:]:
        near, _, changes = group.partition("\n")
        between, *each_change = re.split("(?m)^(?=[a-z-]+: )", changes)
        if between.strip():
            raise ValueError(f"mutations.txt, {near}: expected mutations, found {between!r}")
        found += [_change(near, change) for change in each_change]
    return found


def _change(near: str, text: str) -> Mutation:
    head, *lines = text.rstrip("\n").split("\n")
    name, breaks = head.split(": ", 1)
    before, after = ("\n".join(line[1:] for line in lines if line[:1] != sign) for sign in "+-")
    odd = [line for line in lines if line[:1] not in "+- "]
    if odd or not before.strip() or before == after:
        raise ValueError(f"mutations.txt, {name}: expected a change as in a diff, found {odd or lines}")
    return Mutation(name, breaks, near, before, after)


_READ = read_mutations(pathlib.Path(__file__).with_name("mutations.txt").read_text())
MUTATIONS = {each.name: each for each in _READ}
assert len(MUTATIONS) == len(_READ), "two mutations have one name"
CORE = tuple(dict.fromkeys(each.near for each in _READ))  # the tests, in the order in which they run
