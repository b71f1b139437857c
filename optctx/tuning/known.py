"""Compilations that need not be done again: what they read is the same as in one that is done."""

from __future__ import annotations

from dataclasses import replace

from optctx.registry import registry
from optctx.sweep.plan import Answer
from optctx.tuning.evaluate import Candidate, Setup

__all__ = ["Known"]

_Key = tuple[str, tuple[tuple[str, str], ...]]


class Known:
    """What compilations have given, under their pipeline and those of their options that they read.

    A compilation that reads only options with the same values is the same compilation: it would read the same
    ones, one after the other, and do the same.
    """

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._targets: dict[str, str] = {}
        self._read: list[frozenset[str]] = []  # sets of options that compilations read, each once
        self._answers: dict[_Key, Answer] = {}

    def add(self, candidate: Candidate, answer: Answer) -> None:
        """Enter what came out, if it is known what was read."""
        if answer.state != "ok" or answer.read is None:
            return
        if answer.read not in self._read:
            self._read.append(answer.read)
        self._answers.setdefault(self._key(candidate, answer.read), answer)

    def find(self, candidate: Candidate) -> Answer | None:
        """What the candidate gives, if that is known."""
        for read in self._read:
            found = self._answers.get(self._key(candidate, read))
            if found is not None and found.read == read:
                return replace(found, number=candidate.number)
        return None

    def _key(self, candidate: Candidate, read: frozenset[str]) -> _Key:
        options = sorted((self._target(name), text) for name, text in candidate.options.items())
        return candidate.pipeline(self._setup), tuple(each for each in options if each[0] in read)

    def _target(self, name: str) -> str:
        if name not in self._targets:
            self._targets[name] = registry()[name].alias_of or name
        return self._targets[name]
