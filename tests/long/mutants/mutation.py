"""A mutation as data: one plausible mistake, as a text that takes the place of another one in one file."""

from __future__ import annotations

import pathlib
from dataclasses import dataclass

__all__ = ["CannotMutateError", "Mutation", "mutated"]


class CannotMutateError(Exception):
    """The source has changed, and the mutation must be adapted to it."""


@dataclass(frozen=True)
class Mutation:
    name: str
    breaks: str  # the promise that does not hold any more, as a sentence
    file: str  # from the repository's root
    near: str  # the tests of its subject, which run first
    before: str  # occurs exactly once
    after: str

    @property
    def is_native(self) -> bool:
        """Whether it must be compiled."""
        return not self.file.endswith(".py")


def mutated(mutation: Mutation, root: pathlib.Path) -> str:
    """The text of the file with the mutation.

    Raises CannotMutateError if the text to change does not occur exactly once.
    """
    path = root / mutation.file
    if not path.is_file():
        raise CannotMutateError(f"{mutation.name}: {mutation.file} is gone; adapt the mutation")
    text = path.read_text()
    found = text.count(mutation.before)
    if found != 1:
        raise CannotMutateError(
            f"{mutation.name}: {mutation.file} has the text to change {found} times instead of once; "
            f"adapt the mutation:\n{mutation.before}"
        )
    return text.replace(mutation.before, mutation.after)
