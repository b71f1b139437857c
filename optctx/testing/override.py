"""Draws sets of overrides, contexts and whole compilations."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Literal

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from optctx import OptionContext, registry
from optctx.compiling import Image, Job, image_of
from optctx.testing.module import modules
from optctx.testing.option import options as any_options
from optctx.testing.option import own_name
from optctx.testing.value import can_draw, values

if TYPE_CHECKING:
    from optctx import Option

Overrides = dict[str, object]


def overrides(
    options: SearchStrategy[Option] | Mapping[str, SearchStrategy[object]] | None = None,
    *,
    min_size: int = 0,
    max_size: int = 8,
    whole: bool = False,
    image: Image | None = None,
) -> SearchStrategy[Overrides]:
    """Draw overrides for OptionContext: option name -> value, in order of name, no option twice.

    Shrinks towards the empty set, then towards the registered values.

    >>> from hypothesis import find
    >>> from optctx.testing import options, overrides
    >>> find(overrides(options("unroll-*")), lambda drawn: drawn.get("unroll-count", 0) > 1)
    {'unroll-count': 2}

    Args:
        options: The options to draw from, by default `options()`. Or a mapping from names to strategies, for
            values other than those of `values`.
        min_size, max_size: The least and the most overrides.
        whole: As in `values`.
        image: Of which LLVM, as in `options`.
    """
    if isinstance(options, Mapping):
        if not options:
            return st.just({})
        pairs = st.sampled_from(sorted(options)).flatmap(lambda name: st.tuples(st.just(name), options[name]))
    else:
        of_option = cache(lambda option: st.tuples(st.just(option.name), values(option, whole=whole)))
        pairs = (any_options(image=image).filter(can_draw) if options is None else options).flatmap(
            lambda option: of_option(option)  # Hypothesis writes a strategy with the code of its functions
        )
    drawn = st.lists(
        pairs, min_size=min_size, max_size=max_size, unique_by=lambda pair: own_name(registry(image)[pair[0]])
    )
    return drawn.map(lambda found: dict(sorted(found)))


def contexts(
    overrides: SearchStrategy[Overrides] | None = None,
    *,
    base: OptionContext | Literal["inherit", "defaults"] = "defaults",
    image: Image | None = None,
) -> SearchStrategy[OptionContext]:
    """Draw contexts with these overrides. They shrink as the overrides do."""
    return _or_any(overrides, image).map(lambda drawn: OptionContext(drawn, base=base, image=image))


def arguments(overrides: Mapping[str, object], image: Image | None = None) -> tuple[str, ...]:
    """Return overrides as command-line arguments for `Job.options`."""
    return tuple(OptionContext(overrides, base="defaults", image=image).args())


def jobs(
    ir: SearchStrategy[str] | SearchStrategy[str | bytes] | str | bytes | None = None,
    overrides: SearchStrategy[Overrides] | None = None,
    **parts: object,
) -> SearchStrategy[Job]:
    """Draw compilations: a module (by default from `modules()`), options (`overrides()`), and other fields of
    a `Job`, such as `passes` and `triple`. With `llvm`, options are those of that LLVM.

    Each part is a strategy or a value. A value is the same in every job. A job shrinks as its parts do.
    """
    image = image_of(str(parts.get("llvm", "")))
    given = {name: _drawn(part) for name, part in parts.items()}
    module = modules() if ir is None else _drawn(ir)
    texts = _or_any(overrides, image).map(lambda drawn: arguments(drawn, image))
    return st.builds(Job, ir=module, options=texts, **given)


def _or_any(given: SearchStrategy[Overrides] | None, image: Image | None) -> SearchStrategy[Overrides]:
    return overrides(image=image) if given is None else given


def _drawn(part: object) -> SearchStrategy[object]:
    return part if isinstance(part, SearchStrategy) else st.just(part)
