"""What a caller gives to OptionContext, as plain data, and what is done with it."""

from __future__ import annotations

import json
import pickle
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Any

from optctx import OptctxError, OptionContext, current, drift, info, registry
from optctx.compiling import Job, Result, compile_job
from optctx.process import set_process_options
from tests.support.ir_texts import SCALE, X86
from tests.support.scopes import process_state

__all__ = ["GAVE", "JOB", "Case", "make", "output", "perform"]

JOB = Job(SCALE, "default<O2>", triple=X86, emit="assembly")
GAVE = "gave "  # before the arguments of a compilation and its output, in JSON


@dataclass(frozen=True)
class Case:
    """What is given to OptionContext (a mapping, and keywords) or to from_args (`line`), and what follows."""

    overrides: Any = None
    keywords: tuple[tuple[str, Any], ...] = ()
    line: Any = None  # a str or strings, instead of the mapping
    base: Any = "defaults"
    process_wide: Any = "refuse"
    outer: Any = None  # overrides of a context around it
    enter: bool = False
    compile: bool = False
    states: bool = False  # compares every process-wide value, which takes as long as 50 cases
    alone: tuple[str, ...] | None = None  # LLVM compiles under these arguments, without optctx

    def __str__(self) -> str:
        default = Case()
        given = (f"{name}={value!r}" for name, value in vars(self).items() if value != getattr(default, name))
        return f"Case({', '.join(given)})"


def perform(case: Case) -> str:
    """Run a case on this thread. Return one of FINE, what a compilation gave, or what is wrong."""
    if case.alone is not None:
        set_process_options(case.alone)
        compile_job(JOB)
        return "compiled"
    before = process_state() if case.states else {}
    try:
        how = _inside(case)
    except OptctxError:
        how = "refused"
    return _left_behind(before) or how


def make(case: Case) -> OptionContext:
    """Make the context of a case, or raise as that does."""
    more = {"base": case.base, "process_wide": case.process_wide}
    if case.line is not None:
        return OptionContext.from_args(case.line, **more)
    return OptionContext(case.overrides, **more, **dict(case.keywords))


def output(result: Result) -> list[str]:
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
        return GAVE + json.dumps([context.args(), *output(compile_job(JOB))])


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
        again = OptionContext.from_args(context.args(), base="defaults", process_wide=case.process_wide)
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
