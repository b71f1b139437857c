"""What users of options may expect, as properties of small programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from evidence.strategies.program import BYSTANDER, Action, Program, Step

MISSPELT: Final = ("-unroll-cout=4",)
_ENDING = ("leave", "fail", "die")


class Property(NamedTuple):
    """Threads take `actions` in any order, then `last` looks at what is left.

    `ends`: how scopes end that are still entered before `last`; None leaves them. `nests`: whether a thread
    may enter a scope inside another. `process`: whether options that differ for the process afterwards break
    it.
    """

    name: str
    says: str
    actions: tuple[Action, ...]
    threads: int = 1
    last: tuple[tuple[int, Action], ...] = ()
    ends: Action | None = None
    nests: bool = False
    process: bool = False


_AFTER: tuple[tuple[int, Action], ...] = ((BYSTANDER, "plain"), (1, "compile"))
_SCOPED: tuple[Action, ...] = ("enter", "leave", "compile")
PROPERTIES: Final[dict[str, Property]] = {
    each.name: each
    for each in (
        Property("obeyed", "an option does what it does on a command line", ("enter", "compile")),
        Property("isolation", "users on two threads do not see each other's options", _SCOPED, threads=2),
        Property(
            "bystanders",
            "code that does not use the strategy sees none of its options, while they are in force",
            (*_SCOPED, "plain"),
        ),
        Property("independence", "options that others set for the process do not count", (*_SCOPED, "set")),
        Property("nesting", "a scope inside another adds to it, and ends with it", _SCOPED, nests=True),
        Property(
            "restore",
            "after a scope, everything is as before",
            _SCOPED,
            last=_AFTER,
            ends="leave",
            process=True,
        ),
        Property(
            "exceptions",
            "the same where an exception leaves the scope",
            ("enter", "fail", "compile"),
            last=_AFTER,
            ends="fail",
            process=True,
        ),
        Property(
            "thread-death",
            "the same where a thread ends inside the scope",
            ("enter", "die", "compile"),
            last=_AFTER,
            ends="die",
            process=True,
        ),
        Property(
            "repeatability", "equal options give equal code, whatever was compiled before", ("compile",)
        ),
        Property(
            "nested-tool",
            "a tool that resets and parses inside a scope has its own options, and its caller the scope's",
            ("enter", "tool", "compile"),
        ),
        Property(
            "propagation",
            "a thread that is given work compiles under the options of the one that gave it",
            ("enter", "leave", "task"),
        ),
        Property(
            "misspelling",
            "a misspelt option is an error, and nothing else",
            ("compile",),
            last=((0, "compile"),),
        ),
    )
}


class Verdict(NamedTuple):
    """Of one property of one strategy. `counterexample`: the smallest program found, and what it gave."""

    property: str
    holds: bool
    programs: int  # that were run
    counterexample: tuple[str, ...] = ()


def valid(property: Property, drawn: Sequence[Step]) -> Program:
    """The steps that can be taken: scopes are left where one is entered, and nest where they may."""
    depth: dict[int, int] = {}
    kept: list[Step] = []
    for step in drawn:
        inside = depth.setdefault(step.thread, 0)
        if step.action in _ENDING and not inside:
            continue
        if inside and not property.nests and step.options != MISSPELT:
            if step.action == "enter":
                continue
            if step.action == "compile":
                step = step._replace(options=())
        depth[step.thread] = {"enter": inside + 1, "leave": inside - 1, "fail": inside - 1, "die": 0}.get(
            step.action, inside
        )
        kept.append(step)
    if property.ends is not None:
        kept += [Step(thread, property.ends) for thread, inside in depth.items() for _ in range(inside)]
    return (*kept, *(Step(thread, action) for thread, action in property.last))
