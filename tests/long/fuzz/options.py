"""Names and values that a caller passes: to OptionContext and as command lines."""

from __future__ import annotations

import atexit
import json
import os
import pickle
import shlex
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from math import inf, nan
from random import Random
from typing import Any

from optctx import OptctxError, OptionContext, current, drift, info, registry
from optctx.compiling import FreshProcess, Job, Result, compile_job, initialise_targets
from optctx.engine.attach import attach
from optctx.process import set_process_options
from tests.long.fuzz.confined import Limits, Outcome, outcomes
from tests.long.fuzz.hunt import Hunt, Target, less
from tests.long.fuzz.inputs import draw_keywords, draw_line, draw_overrides, mostly
from tests.support.ir_texts import SCALE, X86
from tests.support.scopes import process_state
from tests.support.seccomp import FORBIDDEN

__all__ = ["Case", "OptionsHunt", "OptionsTarget", "inf", "nan"]

_MEMORY = 8 << 30
_JOB = Job(SCALE, "default<O2>", triple=X86, emit="assembly")
_GAVE = "gave "  # before the arguments of a compilation and its output, in JSON
_OUTERS = (None, None, {"unroll-count": 3}, {"inline-threshold": -1, "force-attribute": ["f:cold"]})


@dataclass(frozen=True, repr=False)
class Case:
    """What is given to OptionContext (a mapping, and keywords) or to from_args (`line`), and what follows."""

    overrides: Any = None
    keywords: tuple[tuple[str, Any], ...] = ()
    line: Any = None  # a str or strings, instead of the mapping
    base: Any = "defaults"
    outer: Any = None  # overrides of a context around it
    enter: bool = False
    compile: bool = False
    states: bool = False  # compares every process-wide value, which takes as long as 50 cases
    alone: tuple[str, ...] | None = None  # LLVM compiles under these arguments, without optctx

    def __repr__(self) -> str:
        default = Case()
        given = (f"{name}={value!r}" for name, value in vars(self).items() if value != getattr(default, name))
        return f"Case({', '.join(given)})"


class OptionsTarget(Target[Case]):
    """Options may make LLVM open, write and start what they name."""

    name = "options"

    def __init__(self, seconds: float = 20) -> None:
        self.limits = Limits(seconds, _MEMORY, tuple(FORBIDDEN))

    def prepare(self) -> None:
        initialise_targets()
        attach()
        compile_job(_JOB)
        self._folder = tempfile.mkdtemp(prefix="fuzz-")
        atexit.register(shutil.rmtree, self._folder, ignore_errors=True)

    def make(self, random: Random) -> Case:
        """An input of any shape; a share of them compiles."""
        if random.random() < 0.2:
            return Case(draw_overrides(random), enter=True, compile=True)
        case = Case(
            base=mostly(random, ("defaults", "inherit"), (None, "", 3)),
            outer=random.choice(_OUTERS),
            enter=random.random() < 0.5,
            states=random.random() < 0.02,
        )
        if random.random() < 0.5:
            return replace(case, line=draw_line(random))
        return replace(case, overrides=draw_overrides(random), keywords=draw_keywords(random))

    def perform(self, case: Case) -> str:
        os.chdir(self._folder)
        os.environ["PATH"] = ""  # a viewer that LLVM finds would be started, and print when other cases run
        return perform(case)

    def stock(self, case: Case) -> Case:
        """LLVM alone under the arguments of the context, if making that ends no process."""
        [made] = outcomes([replace(case, compile=False)], self.perform, self.limits)
        return Case() if made.wrong or made.how == "refused" else Case(alone=tuple(make(case).args()))

    def smaller(self, case: Case) -> Iterator[Case]:
        yield from (each for each in less(case) if all(len(pair) == 2 for pair in each.keywords))
        if isinstance(case.line, str):
            yield from (replace(case, line=line) for line in less(case.line))


class OptionsHunt(Hunt[Case]):
    """Compares what is compiled with what a fresh process gives that has the same options."""

    def _outcomes(self, cases: Sequence[Case]) -> Iterator[Outcome]:
        found = list(super()._outcomes(cases))
        with FreshProcess() as fresh:
            for outcome in found:
                yield _compared(outcome, fresh) if outcome.how.startswith(_GAVE) else outcome


def _compared(outcome: Outcome, fresh: FreshProcess) -> Outcome:
    args, *given = json.loads(outcome.how.removeprefix(_GAVE))
    wanted = fresh.compile(replace(_JOB, options=tuple(args)))
    if given != _output(wanted):
        return Outcome(f"compiles to {given}; a fresh process with {shlex.join(args)!r} gives {wanted!r}")
    return (
        Outcome("compiled")
        if bool(wanted.stderr) == bool(outcome.printed)
        else Outcome("prints", outcome.printed)
    )


def perform(case: Case) -> str:
    """Run a case on this thread. Return one of FINE, what a compilation gave, or what is wrong."""
    if case.alone is not None:
        set_process_options(case.alone)
        compile_job(_JOB)
        return "compiled"
    before = process_state() if case.states else {}
    try:
        how = _inside(case)
    except OptctxError:
        how = "refused"
    return _left_behind(before) or how


def make(case: Case) -> OptionContext:
    """Make the context of a case, or raise as that does."""
    if case.line is not None:
        return OptionContext.from_args(case.line, base=case.base)
    return OptionContext(case.overrides, base=case.base, **dict(case.keywords))


def _output(result: Result) -> list[str]:
    """What has to be the same in a fresh process."""
    return [result.code.decode(), result.error or ""]


def _inside(case: Case) -> str:
    with ExitStack() as scopes:
        if case.outer is not None:
            scopes.enter_context(OptionContext(case.outer, base="defaults"))
        context = make(case)
        if (wrong := _use(case, context)) or not case.enter:
            return wrong or "made"
        scopes.enter_context(context)
        if current() is not context:
            return "is not the current context inside"
        if not case.compile:
            return "made"
        return _GAVE + json.dumps([context.args(), *_output(compile_job(_JOB))])


def _use(case: Case, context: OptionContext) -> str:
    """Ask everything that a context can be asked. Return what is wrong with the answers."""
    if len(context) != len(registry()):
        return f"has {len(context)} names"
    for name, value in context.overrides.items():
        if repr(context[name]) != repr(value):  # a NaN is not equal to itself
            return f"gives {context[name]!r} for {name}, and {value!r} as override"
    context.diff(current())
    hash(context)
    if context != context.derive({}):
        return "is not equal to its own copy"
    with suppress(OptctxError):
        again = pickle.loads(pickle.dumps(context))
        if again != context or again.args() != context.args():
            return f"comes out of a pickle as {again!r}"
    lists = [name for name, value in context.overrides.items() if value == []]
    if not lists and context.args() and case.base == "defaults":
        again = OptionContext.from_args(context.args(), base="defaults")
        if again != context:
            return f"is {again!r} when made from its own arguments {context.args()}"
    return "" if repr(context) and str(context) else "has no repr"


def _left_behind(before: dict[str, tuple[object, int]]) -> str:
    """Return what is not as it was, process-wide."""
    after = process_state() if before else {}
    changed = {name: (was, after[name]) for name, was in before.items() if repr(was) != repr(after[name])}
    if changed or drift():
        return f"changes process-wide values: {changed or sorted(drift())}"
    if info()["active_scopes"]:
        return f"leaves {info()['active_scopes']} scopes entered"
    return ""
