"""Names and values that a caller passes: to OptionContext and as command lines."""

from __future__ import annotations

import atexit
import gc
import json
import os
import shlex
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from optctx.compiling import FreshProcess, compile_job, initialise_targets
from optctx.engine.attach import attach
from tests.long.fuzz.case import GAVE, JOB, Case, make, output, perform
from tests.long.fuzz.confined import Limits, Outcome, outcomes
from tests.long.fuzz.hunt import Hunt, fewer
from tests.long.fuzz.inputs import draw_case
from tests.support.seccomp import FORBIDDEN

__all__ = ["OptionsHunt", "OptionsTarget"]

_MEMORY = 8 << 30


class OptionsTarget:
    """See `Target` in tests/long/fuzz/hunt.py. Options may make LLVM open, write and start what they name."""

    name = "options"
    again = (
        "from math import inf, nan\n"
        "from tests.long.fuzz.case import Case\n"
        "from tests.long.fuzz.options import OptionsTarget\n"
        "target = OptionsTarget()"
    )

    def __init__(self, seconds: float = 20) -> None:
        self.limits = Limits(seconds, _MEMORY, tuple(FORBIDDEN))

    def prepare(self) -> None:
        initialise_targets()
        attach()
        compile_job(JOB)
        self._folder = tempfile.mkdtemp(prefix="fuzz-")
        atexit.register(shutil.rmtree, self._folder, ignore_errors=True)
        gc.collect()
        gc.freeze()  # children share these pages

    def make(self, random: Random) -> Case:
        return draw_case(random)

    def perform(self, case: Case) -> str:
        os.chdir(self._folder)
        os.environ["PATH"] = ""  # a viewer that LLVM finds would be started, and print when other cases run
        return perform(case)

    def stock(self, case: Case) -> Case:
        """LLVM alone under the arguments of the context, if making that ends no process."""
        [made] = outcomes([replace(case, compile=False)], self.perform, self.limits)
        return Case() if made.wrong or made.how == "refused" else Case(alone=tuple(make(case).args()))

    def smaller(self, case: Case) -> Iterator[Case]:
        for name, usual in vars(Case()).items():
            if getattr(case, name) != usual and name not in ("overrides", "line"):
                yield replace(case, **{name: usual})
        for name in ("overrides", "line"):
            for less in _less(getattr(case, name)):
                yield replace(case, **{name: less})

    def words(self, case: Case) -> str:
        return str(case)

    def avoid(self, case: Case) -> None:
        pass


class OptionsHunt(Hunt[Case]):
    """Compares what is compiled with what a fresh process gives that has the same options."""

    def _outcomes(self, cases: Sequence[Case]) -> Iterator[Outcome]:
        found = list(super()._outcomes(cases))
        with FreshProcess() as fresh:
            for outcome in found:
                yield _compared(outcome, fresh) if outcome.how.startswith(GAVE) else outcome


def _compared(outcome: Outcome, fresh: FreshProcess) -> Outcome:
    args, *given = json.loads(outcome.how.removeprefix(GAVE))
    wanted = fresh.compile(replace(JOB, options=tuple(args)))
    if given != output(wanted):
        return Outcome(f"compiles to {given}; a fresh process with {shlex.join(args)!r} gives {wanted!r}")
    return (
        Outcome("compiled")
        if bool(wanted.stderr) == bool(outcome.printed)
        else Outcome("prints", outcome.printed)
    )


def _less(given: Any) -> Iterator[Any]:
    """The value with less in it."""
    if isinstance(given, str):
        yield from map("".join, fewer(tuple(given)))
    elif isinstance(given, list | tuple):
        yield from map(type(given), fewer(tuple(given)))
        for at, part in enumerate(given):
            yield from (type(given)((*given[:at], less, *given[at + 1 :])) for less in _less(part))
    elif isinstance(given, dict):
        yield from map(dict, fewer(tuple(given.items())))
        for name, value in given.items():
            yield from ({**given, name: less} for less in _less(value))
    elif isinstance(given, int) and given > 1:
        yield given // 2
