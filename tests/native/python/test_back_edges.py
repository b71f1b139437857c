"""No loop inside a try or with statement of the package jumps back where CPython forgets the statement.

An exception at the jump back of a loop, where a signal's handler runs, is not caught by the statement
around the loop, and its `finally` or `__exit__` does not run (CPython 3.12 to 3.14, issue 130279). The
compiler makes a conditional jump back a jump over an unconditional one, and that is in no exception table
before 3.15.
"""

from __future__ import annotations

import dis
import itertools
import pathlib
import sys
import textwrap
from collections.abc import Iterator
from types import CodeType

ROOT = pathlib.Path(__file__).parents[3]

FORGOTTEN = {
    "a condition": "with lock:\n  while busy(): wait()\n",
    "two conditions": "try:\n  while busy() and late(): wait()\nfinally:\n  end()\n",
    "an if at the end": "with lock:\n  for each in all():\n    if each: wait()\n",
}
KEPT = {
    "for": "with lock:\n  for each in all(): wait()\n",
    "for ever": "with lock:\n  while True: wait()\n",
    "no statement around it": "while busy(): wait()\n",
    "a generator": "any(each for each in all() if each)\n",
    "a statement inside": "while busy():\n  with lock: wait()\n",
}


def test_the_package_has_none() -> None:
    found = {
        str(file.relative_to(ROOT)): jumps
        for file in sorted((ROOT / "optctx").rglob("*.py"))
        if (jumps := unguarded(file.read_text()))
    }
    assert not found, "put the loop into a function of its own"


def test_it_is_found_and_no_other_loop() -> None:
    found = {
        name
        for name, text in {**FORGOTTEN, **KEPT}.items()
        if unguarded("def f():\n" + textwrap.indent(text, "  "))
    }
    if sys.version_info >= (3, 15):  # candidates of 3.15.0 compiled as 3.14 does
        assert found <= {"an if at the end"}
    else:  # 3.14 compiles conditions in another way
        assert found == ({"an if at the end"} if sys.version_info >= (3, 14) else set(FORGOTTEN))


def unguarded(text: str) -> list[str]:
    """Function and line of each, in this Python or, before 3.12, in the next ones."""
    return [
        f"{code.co_qualname}, line {line}"
        for code in _codes(compile(text, "<text>", "exec"))
        for line in _unguarded(code)
    ]


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _codes(each)


def _unguarded(code: CodeType) -> Iterator[int | None]:
    instructions = list(dis.get_instructions(code))
    # Those of statements; generators and comprehensions have some of their own.
    handlers = {each.offset for each in instructions if each.opname == "PUSH_EXC_INFO"}
    table = [entry for entry in dis._parse_exception_table(code) if entry.target in handlers]  # type: ignore[attr-defined]

    def guards(offset: int) -> set[int]:
        return {entry.target for entry in table if entry.start <= offset < entry.end}

    back = {each.offset: each.argval for each in instructions if each.opname == "JUMP_BACKWARD"}
    for before, each in itertools.pairwise(instructions):
        line = each.positions.lineno if each.positions else None
        if sys.version_info >= (3, 12):
            # 3.12 also leaves a handler so.
            conditional = sys.version_info >= (3, 13) or before.opname.startswith("POP_JUMP_IF")
            if each.offset in back and conditional and guards(back[each.offset]) - guards(each.offset):
                yield line
        # From 3.12 on, a conditional jump to a jump goes where that one goes.
        elif each.opname.startswith(("POP_JUMP_BACKWARD_IF", "POP_JUMP_FORWARD_IF")):
            target = back.get(each.argval, each.argval)
            if target < each.offset and guards(each.offset) & guards(target):
                yield line
