"""Draws options by their properties or by the code that reads them."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from optctx import Option, registry
from optctx.errors import OptctxError, shown
from optctx.testing.compiler import reads_of
from optctx.testing.value import is_literal

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

    from optctx.compiling import Job

_USUAL = ("tuning",)


def options(
    name: str = "*",
    *,
    type: str | None = None,
    category: str | None = None,
    target: str | None = None,
    reader: str | None = None,
    read_by: Job | None = None,
    trust: Iterable[str] | None = _USUAL,
    aliases: bool = False,
) -> SearchStrategy[Option]:
    """Draw options that a context can set and that only change the generated code.

    Every type is drawn as often as any other. Attaches when the first value is drawn, not before. Shrinks
    towards the first type and name in alphabetical order.

    >>> from hypothesis import find
    >>> from optctx.testing import options
    >>> find(options("unroll-*"), lambda option: option.type == "uint").name
    'unroll-and-jam-count'

    Args:
        name: A name, or a glob such as `unroll-*`.
        type: One type (`Option.type`).
        category: The name of a category under which LLVM lists the option, such as "Analysis Options".
        target: The name of a target in LLVM's classes, such as "X86" or "AArch64": options that its code
            reads.
        reader: Part of the name of a function that reads the option, such as "LoopUnrollPass".
        read_by: A compilation: only options that LLVM reads for it. Fresh processes compile it.
        trust: Classes (`Option.trust`), such as `("tuning", "output")`. None is all of them: some options
            print, write files, end the process or start programs.
        aliases: Whether to draw other names of the same options as well.

    Raises:
        OptctxError: When the first value is drawn: no option is left, or LLVM refuses the compilation.
    """
    classes = None if trust is None else tuple(trust)
    conditions: dict[str, object] = {
        "type": type,
        "category": category,
        "target": target,
        "reader": reader,
        "read_by": read_by,
        "trust": None if classes == _USUAL else classes,
    }

    def matches(option: Option) -> bool:
        return (
            fnmatch.fnmatchcase(option.name, name)
            and (aliases or option.alias_of is None)
            and type in (None, option.type)
            and (category is None or category in option.categories)
            and (target is None or _is_of(target, option))
            and (reader is None or any(reader in function for function in option.read_by))
        )

    @cache
    def matching() -> SearchStrategy[Option]:
        fitting = [option for option in _settable() if matches(option)]
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
def _settable() -> list[Option]:
    """The options that a context can set, in order of name."""
    return [option for option in registry().values() if option.scope != "process"]


def _is_of(target: str, option: Option) -> bool:
    """Whether code of the target reads it: `llvm::X86Subtarget::...`, `(anonymous namespace)::X86...`."""
    own = re.compile(rf"\b{re.escape(target)}(?=[A-Z_:(]|$)")
    return option.name.startswith(f"{target.lower()}-") or any(
        own.search(function) for function in option.read_by
    )


def _none_matches(name: str, conditions: dict[str, object], others: set[str]) -> str:
    """`others`: the classes of options that match but for their class."""
    given = [f"{word}={shown(value)}" for word, value in conditions.items() if value is not None]
    remedy = "`optctx options` shows every option"
    if others:
        kinds = sorted(others)
        remedy = f"those that fit are of class {', '.join(kinds)}: write trust={kinds} to draw them"
    return f"no option that a context can set matches options({', '.join([shown(name), *given])}); {remedy}"
