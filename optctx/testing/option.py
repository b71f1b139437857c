"""Draws options by their properties or by the code that reads them."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from optctx import Option, registry
from optctx.errors import OptctxError, shown
from optctx.testing.compiler import reads_of
from optctx.testing.value import is_literal

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

    from optctx.compiling import Image, Job

_USUAL = ("tuning",)


def options(
    name: str = "*",
    *,
    read_by: Job | None = None,
    trust: Iterable[str] | None = _USUAL,
    image: Image | None = None,
) -> SearchStrategy[Option]:
    """Draw options that a context can set and that only change the generated code.

    Every type is drawn as often as any other. Attaches when the first value is drawn, not before. Shrinks
    towards the first type and name in alphabetical order. For options by what else they are, take
    `sampled_from` of those of the registry.

    >>> from hypothesis import find
    >>> from optctx.testing import options
    >>> find(options("unroll-*"), lambda option: option.type == "uint").name
    'unroll-and-jam-count'

    Args:
        name: A name, or a glob such as `unroll-*`.
        read_by: A compilation: only options that LLVM reads for it. Fresh processes compile it.
        trust: Classes (`Option.trust`), such as `("tuning", "output")`. None is all of them: some options
            print, write files, end the process or start programs.
        image: Of which LLVM, from `loaded_image`; None means llvmlite's.

    Raises:
        OptctxError: When the first value is drawn: no option is left, or LLVM refuses the compilation.
    """
    classes = None if trust is None else tuple(trust)
    conditions = {"read_by": read_by, "trust": None if classes == _USUAL else classes}

    @cache
    def matching() -> SearchStrategy[Option]:
        fitting = [option for option in _settable(image) if fnmatch.fnmatchcase(option.name, name)]
        if read_by is not None:
            read = reads_of(read_by)
            fitting = [option for option in fitting if own_name(option) in read]
        found = [option for option in fitting if classes is None or option.trust in classes]
        if not found:
            raise OptctxError(_none_matches(name, conditions, {option.trust for option in fitting}))
        kinds = sorted({option.type for option in found})
        return st.one_of([st.sampled_from([each for each in found if each.type == kind]) for kind in kinds])

    # Hypothesis writes a strategy out where a draw ends early: this one as its name, not with every option.
    @st.composite
    def option(draw: st.DrawFn) -> Option:
        return draw(matching())

    return option()


def own_name(option: Option) -> str:
    """The name that contexts use for an option: its own, not an alias; the first one if it has several."""
    names = [option.alias_of or option.name]
    if is_literal(option):
        names += option.aliases
    return min(names)


@cache
def _settable(image: Image | None) -> list[Option]:
    """The options that a context can set, each once, in order of name."""
    return [each for each in registry(image).values() if each.scope != "process" and each.alias_of is None]


def _none_matches(name: str, conditions: Mapping[str, object], others: set[str]) -> str:
    """`others`: the classes of options that match but for their class."""
    given = [f"{word}={shown(value)}" for word, value in conditions.items() if value is not None]
    remedy = "`optctx options` shows every option"
    if others:
        kinds = sorted(others)
        remedy = f"those that fit are of class {', '.join(kinds)}: write trust={kinds} to draw them"
    return f"no option that a context can set matches options({', '.join([shown(name), *given])}); {remedy}"
