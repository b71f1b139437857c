"""Draws modules of LLVM IR, from a small grammar of deterministic programs or from a folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from optctx.errors import OptctxError
from optctx.testing.program import CELLS, Branch, Expression, Function, Load, Loop, Operand, Store, render

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

    from optctx.testing.program import Statement

__all__ = ["modules", "modules_in"]

# The simplest first. They are defined for the operands that `render` gives them.
_OPERATIONS = ("add", "sub", "and", "or", "xor", "mul", "shl", "lshr", "ashr", "udiv", "urem", "umax", "smin")
_NEAR = 7  # how far back an operand may refer among the values so far


def modules(*, max_functions: int = 2, max_statements: int = 6, max_depth: int = 2) -> SearchStrategy[str]:
    """Draw modules of integer arithmetic, loads, stores, branches, loops and calls.

    The last function is `i64 @kernel(i64, i64, ptr)`, whose pointer is to 64 i64. It has no undefined
    behaviour and every loop ends, so all compilations of it give the same result and leave the same memory.
    Shrinks towards one function that returns its first argument.

    Args:
        max_functions: The most functions. Each calls the one before it.
        max_statements: The most statements in a function, and half as many on each level of nesting.
        max_depth: The most levels of nested loops and branches.
    """
    body = st.lists(_statements(max_depth, max_statements), max_size=max_statements)
    functions = st.builds(Function, body.map(tuple))
    return st.lists(functions, min_size=1, max_size=max_functions).map(render)


def _statements(depth: int, most: int) -> SearchStrategy[Statement]:
    operand = st.builds(Operand, st.booleans(), st.integers(0, _NEAR))
    simple: list[SearchStrategy[Statement]] = [
        st.builds(Expression, st.sampled_from(_OPERATIONS), operand, operand),
        st.builds(Load, operand),
        st.builds(Store, operand, operand),
    ]
    if depth == 0:
        return st.one_of(simple)
    inside = max(1, most // 2)  # with as many on every level, most programs would be large
    inner = st.lists(_statements(depth - 1, inside), max_size=inside).map(tuple)
    branch = st.builds(Branch, operand, operand, inner, inner)
    return st.one_of(*simple, branch, st.builds(Loop, st.integers(1, CELLS), inner))


def modules_in(folder: str | os.PathLike[str], pattern: str = "**/*.ll") -> SearchStrategy[str | bytes]:
    """Draw the modules of a folder: bitcode from files called `*.bc`, text from all others.

    Shrinks towards the smallest file.

    Raises:
        OptctxError: No file of the folder matches the pattern.
    """
    found = [path for path in Path(folder).glob(pattern) if path.is_file()]
    if not found:
        raise OptctxError(
            f"no file in {os.fspath(folder)!r} matches {pattern!r}; expected modules of LLVM IR"
        )
    paths = sorted(found, key=lambda path: (path.stat().st_size, path))
    return st.sampled_from(paths).map(_read)


def _read(path: Path) -> str | bytes:
    return path.read_bytes() if path.suffix == ".bc" else path.read_text(encoding="utf-8")
