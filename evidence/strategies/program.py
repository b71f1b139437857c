"""Small concurrent programs over a strategy, as plain data, and what they gave."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

from evidence.strategies.arguments import merged
from optctx.compiling import Result

Action = Literal[
    "enter",  # a scope with options
    "leave",  # the innermost scope
    "fail",  # leave it by an exception
    "die",  # the thread ends, its scopes still entered; its next step is another thread's
    "compile",  # through the strategy, options on top of the scopes
    "task",  # hand a compilation to another thread
    "tool",  # run a tool of LLVM's kind inside the scopes
    "plain",  # compile past the strategy, as code does that knows of none
    "set",  # have LLVM parse options for the process, past the strategy
]
BYSTANDER: Final = 2  # the thread of code that knows of no strategy
_SHOWING = ("compile", "task", "tool", "plain")
_PHRASES: dict[Action, str] = {
    "enter": "enters a scope with {}",
    "leave": "leaves its scope",
    "fail": "leaves its scope by an exception",
    "die": "ends inside its scopes",
    "compile": "compiles",
    "task": "has another thread compile",
    "tool": "runs a tool with {}",
    "plain": "compiles without the strategy",
    "set": "sets {} for the process",
}


class Step(NamedTuple):
    """One action of one thread. Threads take their steps in the order of the program, one at a time."""

    thread: int
    action: Action
    options: tuple[str, ...] = ()


Program = tuple[Step, ...]


class Seen(NamedTuple):
    """What a step gave: a digest of the output, or an error. `step`: its index in the program."""

    step: int
    digest: str = ""
    error: str = ""


class Outcome(NamedTuple):
    """Of one run: every step that shows something; options that differ for the process afterwards."""

    seen: tuple[Seen, ...] = ()
    changed: tuple[str, ...] = ()
    waiting: tuple[int, ...] = ()  # steps that wait for ever
    death: str = ""  # why the process ended, if it did; nothing else is known then
    unmade: str = ""  # what this machine refused; nothing can be said of the strategy then


def expected(program: Sequence[Step]) -> dict[int, tuple[str, ...]]:
    """The options under which each step that shows an output has to compile, by its index.

    A scope has the options of the scopes around it on its own thread and its own on top, over the registered
    values. A tool has its own over the registered ones. What compiles without the strategy has those that
    were set for the process.
    """
    scopes: dict[int, list[tuple[str, ...]]] = {}
    process: tuple[str, ...] = ()
    found: dict[int, tuple[str, ...]] = {}
    for index, step in enumerate(program):
        entered = scopes.setdefault(step.thread, [])
        inside = merged((*(entered[-1] if entered else ()), *step.options))
        if step.action == "enter":
            entered.append(inside)
        elif step.action in ("leave", "fail"):
            entered.pop()
        elif step.action == "die":
            entered.clear()
        elif step.action == "set":
            process = merged((*process, *step.options))
        elif step.action in _SHOWING:
            found[index] = {"tool": merged(step.options), "plain": process}.get(step.action, inside)
    return found


def words(step: Step) -> str:
    """The step as a sentence."""
    options = " ".join(step.options) or "no options"
    with_options = f" with {options}" if step.options and step.action in ("compile", "task") else ""
    thread = "a bystander" if step.thread == BYSTANDER else f"thread {step.thread + 1}"
    return f"{thread} {_PHRASES[step.action].format(options)}{with_options}"


def digest(result: Result) -> str:
    """Of everything that a compilation gave."""
    return hashlib.sha256((result.ir or "").encode() + b"\0" + result.code).hexdigest()
