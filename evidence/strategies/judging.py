"""Asks a strategy for a property: runs programs, and compares what they give with what they have to give."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from evidence.strategies.drawing import smallest
from evidence.strategies.host import Host
from evidence.strategies.program import Program, Step, digest, expected, words
from evidence.strategies.properties import MISSPELT, PROPERTIES, Property, Verdict
from optctx.children.death import OF_MACHINE
from optctx.compiling import FreshProcess, Job
from optctx.errors import OptctxError


class Judge:
    """Asks one strategy for its properties. A context manager.

    What a program has to give is what the same options give alone, in a process of their own, through the
    same strategy: each property stands for itself. `obeyed` compares with a fresh process instead, which has
    the options on its command line. So it is with tools, which have LLVM parse their options, and with code
    that compiles without the strategy.
    """

    def __init__(self, strategy: str, job: Job, options: Sequence[tuple[str, ...]], seed: int = 0) -> None:
        """`options`: sets to draw from, each of which changes what the job gives."""
        self.strategy = strategy
        self.refused: dict[tuple[str, ...], str] = {}  # sets that the strategy does not take, with its words
        self._job = job
        self._seed = seed
        self._sets = list(options)
        self._host = Host(strategy, job)
        self._alone: dict[tuple[str, ...], str] = {}

    def __enter__(self) -> Judge:
        self._host.__enter__()
        for options in self._sets:
            outcome = self._host.run(_alone(options))
            if outcome.death or outcome.seen[0].error:
                self.refused[options] = outcome.death or outcome.seen[0].error
        self._sets = [options for options in self._sets if options not in self.refused]
        return self

    def __exit__(self, *error: object) -> None:
        self._host.__exit__(*error)

    def judge(self, name: str, *, programs: int = 30, seconds: float = 10.0) -> Verdict:
        """Look for a program that breaks the property, and for the smallest one.

        `programs`: how many are drawn at most. `seconds`: after which no further one is run. Raises
        OptctxError if the strategy takes none of the options.
        """
        if not self._sets:
            raise OptctxError(
                f"{self.strategy!r} takes none of the options: {next(iter(self.refused.values()))}"
            )
        search = _Search(self, PROPERTIES[name], time.monotonic() + seconds)
        found = smallest(PROPERTIES[name], self._sets, search.breaks, programs, self._seed)
        if found is None:
            return Verdict(name, True, search.run)
        return Verdict(name, False, search.run, (*map(words, found), search.problems[found]))

    def problem(self, property: Property, program: Program) -> str:
        """What is wrong with what a program gives; "" if nothing is."""
        outcome = self._host.run(program)
        if outcome.death:
            return f"the process ends: {outcome.death}"
        if outcome.waiting:
            return f"{words(program[outcome.waiting[0]])}: it waits for ever"
        seen = {each.step: each for each in outcome.seen}
        for index, options in expected(program).items():
            misspelt = program[index].options == MISSPELT
            found = seen[index]
            if misspelt != bool(found.error):
                return f"{words(program[index])}: {found.error or 'it is no error'}"
            if not misspelt and found.digest != (
                wanted := self._reference(property, program[index], options)
            ):
                return self._difference(program[index], options, found.digest, wanted)
        strange = [each for each in outcome.seen if each.error and each.step not in expected(program)]
        if strange:
            return f"{words(program[strange[0].step])}: {strange[0].error}"
        if property.process and outcome.changed:
            return f"afterwards differ for the process: {', '.join(outcome.changed)}"
        return ""

    def _reference(self, property: Property, step: Step, options: tuple[str, ...]) -> str:
        parsed = property.name == "obeyed" or step.action == "tool"
        if step.action == "plain" or parsed:
            return _digest_of(self._job, options)
        if options not in self._alone:
            outcome = self._host.run(_alone(options))
            self._alone[options] = outcome.seen[0].digest
        return self._alone[options]

    def _difference(self, step: Step, options: tuple[str, ...], found: str, wanted: str) -> str:
        for other, code in self._alone.items():
            if code == found != wanted:
                return f"{words(step)}: expected the code of {_named(options)}, found that of {_named(other)}"
        return f"{words(step)}: expected the code of {_named(options)}, found another one"


class _Search:
    """What was run. A program keeps its answer; once the time is over, no further one is run."""

    def __init__(self, judge: Judge, property: Property, end: float) -> None:
        self.run = 0
        self.problems: dict[Program, str] = {}
        self._judge = judge
        self._property = property
        self._end = end

    def breaks(self, program: Program) -> bool:
        if program not in self.problems:
            if self.run and time.monotonic() > self._end:
                return False
            self.run += 1
            self.problems[program] = self._judge.problem(self._property, program)
        return bool(self.problems[program])


def _alone(options: tuple[str, ...]) -> Program:
    return (Step(0, "compile", options),)


def _named(options: tuple[str, ...]) -> str:
    return " ".join(options) or "no options"


@cache
def _digest_of(job: Job, options: tuple[str, ...]) -> str:
    with FreshProcess() as fresh:
        result = fresh.compile(replace(job, options=options))
    if result.end in (*OF_MACHINE, "timed out"):
        raise OptctxError(f"cannot compile with {_named(options)} in a fresh process: {result.error}")
    return digest(result)
