"""One input as plain data, and what is done with it, in a process that may die of it."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from typing import Any

from optctx import OptctxError, OptionContext, current, drift, info, registry
from optctx.compiling import Job, Result, compile_job

__all__ = ["JOB", "Case", "Report", "perform", "process_state"]

JOB = Job(
    """
define void @scale(ptr noalias %out, ptr noalias %in, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %from = getelementptr i32, ptr %in, i64 %i
  %value = load i32, ptr %from
  %small = icmp slt i32 %value, 7
  %chosen = select i1 %small, i32 %value, i32 3
  %to = getelementptr i32, ptr %out, i64 %i
  store i32 %chosen, ptr %to
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
""",
    "default<O2>",
    triple="x86_64-unknown-linux-gnu",
    emit="assembly",
)


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

    def __str__(self) -> str:
        default = Case()
        given = (f"{name}={value!r}" for name, value in vars(self).items() if value != getattr(default, name))
        return f"Case({', '.join(given)})"


@dataclass(frozen=True)
class Report:
    """How it went; `wrong` says what should not have been. `args` and `result`: of a compilation."""

    made: bool = False
    wrong: str = ""
    args: tuple[str, ...] = ()
    result: Result | None = None


def perform(case: Case, stage: Callable[[str], None], *, thoroughly: bool = False) -> Report:
    """Runs a case; `stage` is told before each step that LLVM might not survive."""
    stage("making")
    before = process_state() if thoroughly else None
    try:
        report = _inside(case, stage)
    except OptctxError:
        report = Report()
    except BaseException as error:
        report = Report(wrong=f"raises {type(error).__name__}: {error}")
    stage("checking")
    return replace(report, wrong=report.wrong or _left_behind(before))


def process_state() -> dict[str, tuple[object, int]]:
    """(value, occurrences) of every option, process-wide."""
    return {name: (option.value, option.occurrences) for name, option in registry().items()}


def _inside(case: Case, stage: Callable[[str], None]) -> Report:
    with ExitStack() as scopes:
        if case.outer is not None:
            scopes.enter_context(OptionContext(case.outer, base="defaults"))
        context = _make(case)
        wrong = _use(case, context)
        if wrong or not case.enter:
            return Report(True, wrong)
        stage("entering")
        scopes.enter_context(context)
        if current() is not context:
            return Report(True, "is not the current context inside")
        if not case.compile:
            return Report(True)
        stage("compiling")
        result = compile_job(JOB)
        stage("leaving")
        return Report(True, "", tuple(context.args()), result)


def _make(case: Case) -> OptionContext:
    if case.line is not None:
        return OptionContext.from_args(case.line, base=case.base, process_wide=case.process_wide)
    return OptionContext(
        case.overrides, base=case.base, process_wide=case.process_wide, **dict(case.keywords)
    )


def _use(case: Case, context: OptionContext) -> str:
    """Everything that a context can be asked; what is wrong with the answers."""
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


def _left_behind(before: dict[str, tuple[object, int]] | None) -> str:
    """What is not as it was, process-wide."""
    if before is not None:
        after = process_state()
        changed = {
            name: (before[name], after[name]) for name in before if repr(before[name]) != repr(after[name])
        }
        if changed:
            return f"changes process-wide values: {changed}"
    if drift():
        return "changes process-wide values"
    if info()["active_scopes"]:
        return f"leaves {info()['active_scopes']} scopes entered"
    return ""
