"""Compilations that need not be done again: what they read is the same as in one that is done."""

from __future__ import annotations

from dataclasses import replace

from optctx.lab.sweep.by_reads import ByReads
from optctx.lab.sweep.plan import Answer
from optctx.lab.tuning.evaluate import Candidate, Setup

__all__ = ["Known"]


class Known:
    """What compilations have given, under their pipeline and those of their options that they read."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._answers: ByReads[Answer] = ByReads()

    def add(self, candidate: Candidate, answer: Answer) -> None:
        """Enter what came out, if it is known what was read."""
        if answer.state == "ok" and answer.read is not None:
            self._answers.add(candidate.pipeline(self._setup), candidate.options, answer.read, answer)

    def find(self, candidate: Candidate) -> Answer | None:
        """What the candidate gives, if that is known."""
        found = self._answers.find(candidate.pipeline(self._setup), candidate.options)
        return None if found is None else replace(found[1], number=candidate.number)
