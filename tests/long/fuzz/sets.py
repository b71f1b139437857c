"""Sets of tuning options in one compilation: options that are harmless alone can end the process together."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from unittest.mock import patch

import optctx
from evidence.conformance import job as compiling
from evidence.conformance.job import Job, compile_job, initialise, source
from optctx import OptionContext, info, record
from optctx.engine.attach import attach
from optctx.values import read_for_all
from tests.long.fuzz.confined import Limits, Outcome, outcomes
from tests.long.fuzz.hunt import Target
from tests.long.fuzz.modules import attributed
from tests.long.fuzz.words import Setting, without_avoided
from tests.long.probe import jobs, spread_values, tuning_jobs, tuning_options

_ATTRIBUTES = 0.25  # of the cases
# The largest that are tried: over more LLVM takes minutes for loops in loops, also if their metadata asks for
# it.
_LARGEST = {"unroll-count": 7, "unroll-and-jam-count": 7}
# Options of a case, at most: one that ends a pass early hides what others do, and many meet more code.
_MOST = (40, 160)
_THRESHOLDS = ("unroll-threshold", "unroll-threshold-default", "unroll-threshold-aggressive")
# With a count, and a threshold that a loop exceeds, LLVM unrolls loops of a thousand iterations whole. Where
# another loop is inside, that takes a minute, and as long in stock LLVM for llvm.loop.unroll.full.
_SLOW = tuple(frozenset(("unroll-count", each)) for each in (*_THRESHOLDS, "unroll-optsize-threshold"))


@dataclass(frozen=True)
class Case:
    """A compilation, and options with values that a module may set."""

    job: Job
    settings: tuple[Setting, ...]
    attribute: bool = False  # of every function; otherwise of a scope, as from a stamp


def compile_case(case: Case) -> str:
    """Compiles a case on this thread, where optctx is attached with attributes="error"."""
    words = [setting.word() for setting in case.settings]  # as on a command line
    if not case.attribute:
        with OptionContext.from_args(words, base="defaults"):
            return _ended(case.job)
    text = attributed(source(case.job.path), f'"optctx"="{" ".join(words)}"')
    with patch.object(compiling, "source", lambda _: text):
        return _ended(case.job)


def _unverified(job: Job) -> Job:
    """The job without InstCombine's check of itself, for which a pipeline asks by naming the pass.

    The check ends the process where one iteration reaches no fixed point: a matter of the module, and every
    option that changes the code before it changes where.
    """

    def parameters(found: re.Match[str]) -> str:
        given = [each for each in (found[1] or "").split(";") if not each.endswith("verify-fixpoint")]
        return f"instcombine<{';'.join([*filter(None, given), 'no-verify-fixpoint'])}>"

    pattern = r"(?<![\w-])instcombine(?:<([^>]*)>)?(?![\w-])"
    return replace(job, passes=re.sub(pattern, parameters, job.passes))


def _ended(job: Job) -> str:
    return "compiled" if compile_job(job).kind == "output" else "refused"


class SetsTarget(Target[Case]):
    name = "sets"

    def __init__(self, seconds: float = 20, llvm_tests: Sequence[str] = (), most: int | None = None) -> None:
        """`llvm_tests`: folders of llvm/test whose inputs are compiled beside those of tests/sample.

        `most`: of all these compilations, so many chosen at random.
        """
        self.limits = Limits(seconds)
        self._most = most
        self._values: dict[str, list[str]] = {}
        self._folders = llvm_tests
        self._reads: dict[Job, list[str]] = {}
        self._avoided = list(_SLOW)  # with what was found: options that together are sure to be found again

    def prepare(self) -> None:
        initialise()
        optctx.attach(attributes="error", trust=("tuning",))
        engine = attach()
        options = tuning_options()
        self._shared = {
            each.name for each in options if read_for_all(engine.resolve(engine.options[each.name]))
        }
        for option in options:
            most = _LARGEST.get(option.name)
            values = spread_values(option)
            self._values[option.name] = [each for each in values if most is None or int(each) <= most]
        self._learn(self._candidates())
        self._jobs = list(self._reads)
        self._weights = [len(names) for names in self._reads.values()]

    def _candidates(self) -> list[Job]:
        found = dict.fromkeys(jobs())
        if self._folders:
            found |= dict.fromkeys(_unverified(job.bare()) for job in tuning_jobs(self._folders))
        if self._most is None or len(found) <= self._most:
            return list(found)
        return Random(self._most).sample(list(found), self._most)

    def _learn(self, candidates: Sequence[Job]) -> None:
        """What each compilation reads, of those that stock LLVM survives without a word."""
        counted = next(job for job in jobs() if job.path.endswith("counted.ll"))
        for case in (Case(counted, ()), Case(counted, (Setting("unroll-count", "2"),), attribute=True)):
            self.perform(case)  # no child imports anything or maps code
        cases = [Case(job, ()) for job in candidates]
        for job in candidates:
            source(job.path)
        for case, outcome in zip(cases, outcomes(cases, self.perform, self.limits), strict=True):
            if outcome.how == "compiled" and not outcome.printed and len(outcome.told) > 1:
                self._reads[case.job] = outcome.told

    def learn(self, case: Case, outcome: Outcome) -> None:
        """Takes note of options that LLVM has read only because of the others."""
        if outcome.how == "compiled":
            self._reads[case.job] = sorted({*self._reads[case.job], *outcome.told})

    def make(self, random: Random) -> Case:
        [job] = random.choices(self._jobs, self._weights)
        source(job.path)
        attribute = random.random() < _ATTRIBUTES
        names = [name for name in self._reads[job] if not (attribute and name in self._shared)]
        chosen = random.sample(names, min(len(names), random.randint(10, random.choice(_MOST))))
        settings = [Setting(name, random.choice(self._values[name])) for name in chosen]
        return Case(job, tuple(without_avoided(self._avoided, settings)), attribute)

    def perform(self, case: Case) -> tuple[str, list[str]]:
        """Tell the tuning options that LLVM has read."""
        with record() as log:
            how = compile_case(case)
        read = sorted(log.names & self._values.keys())
        return "leaves a scope entered" if info()["active_scopes"] else how, read

    def stock(self, case: Case) -> Case:
        return replace(case, settings=(), attribute=False)

    def avoid(self, case: Case) -> None:
        self._avoided.append(frozenset(setting.name for setting in case.settings))
