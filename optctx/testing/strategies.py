"""Draws options, values of one option, sets of overrides, contexts and whole compilations."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping
from functools import cache

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from optctx import Option, OptionContext, registry
from optctx.compiling import Image, Job, image_of
from optctx.compiling.facts import INTEGER_RANGES
from optctx.errors import OptctxError, shown
from optctx.testing.module import modules

Overrides = dict[str, object]
_USUAL = ("tuning",)


def options(
    name: str = "*",
    *,
    trust: Iterable[str] | None = _USUAL,
    image: Image | None = None,
) -> SearchStrategy[Option]:
    """Draw options that a context can set and that only change the generated code.

    Every type is drawn as often as any other. Attaches when the first value is drawn, not before. Shrinks
    towards the first type and name in alphabetical order. For options by what else they are, take `filter`,
    or `sampled_from` of those of the registry.

    >>> from hypothesis import find
    >>> from optctx.testing import options
    >>> find(options("unroll-*"), lambda option: option.type == "uint").name
    'unroll-and-jam-count'

    Args:
        name: A name, or a glob such as `unroll-*`.
        trust: Classes (`Option.trust`), such as `("tuning", "output")`. None is all of them: some options
            print, write files, end the process or start programs.
        image: Of which LLVM, from `loaded_image`; None means llvmlite's.

    Raises:
        OptctxError: When the first value is drawn: no option is left.
    """
    classes = None if trust is None else tuple(trust)

    @cache
    def matching() -> SearchStrategy[Option]:
        found = [
            option
            for option in registry(image).values()
            if fnmatch.fnmatchcase(option.name, name)
            and (classes is None or option.trust in classes)
            and option.scope != "process"
            and option.alias_of is None
        ]
        if not found:
            raise OptctxError(
                f"no option that a context can set matches options({shown(name)}, trust={shown(classes)}); "
                "`optctx options` shows every option, and trust=None draws from all classes"
            )
        kinds = sorted({option.type for option in found})
        return st.one_of([st.sampled_from([each for each in found if each.type == kind]) for kind in kinds])

    # Hypothesis writes a strategy out where a draw ends early: this one as its name, not with every option.
    return st.none().flatmap(lambda _: matching())


def own_name(option: Option) -> str:
    """The name that contexts use for an option: its own, not an alias; the first one if it has several."""
    names = [option.alias_of or option.name]
    if is_literal(option):
        names += option.aliases
    return min(names)


def is_literal(option: Option) -> bool:
    """Whether the choices of an enum are options themselves, which take no value."""
    return option.name in option.choices


# Values of one option, by its type. The simplest is the registered value.

# The largest number that a parser of an option's own takes, by how the option's name ends.
_MOST = {"-new-hint-value": 255, "amdgpu-mfma-padding-ratio": 100}
_FLOATS = {"float": 32, "double": 64}
# What people set: counts and sizes, factors, names of functions and passes.
_COUNTS = (*range(9), 16, 32, 64, 128, 256)
_REALS = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0)
_TEXTS = ("main", "f", "loop-unroll", "x86-64")
_TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=40)


def values(option: Option, *, whole: bool = False) -> SearchStrategy[object]:
    """Draw values of an option that people set, in the form in which a context has them.

    Numbers are the registered value, its neighbours, its half and double, small counts and powers of two,
    as far as they are in `Option.trusted_values`. Shrinks towards the registered value: numbers by their
    distance from it, lists by their length.

    >>> from hypothesis import find
    >>> from optctx import registry
    >>> from optctx.testing import values
    >>> find(values(registry()["unroll-count"]), lambda count: count > 8)
    16

    Args:
        option: One of the registry.
        whole: Draw from all that LLVM's parser takes. LLVM crashes on some of these values, and compiles for
            hours with others.

    Raises:
        OptctxError: The option has a parser of its own, or is a list of texts.
    """
    if not can_draw(option):
        raise OptctxError(
            f"cannot draw values of {option.name!r}, of type {option.type}: it is not known which texts it "
            "takes; give a strategy for it"
        )
    if option.type in ("bits", "list"):
        least = 1 if option.default else 0  # no command line takes elements away
        choices = list(option.choices)
        drawn = st.lists(st.sampled_from(choices), min_size=least, max_size=4, unique=option.type == "bits")
        return drawn.map(lambda found: sorted(found, key=choices.index)) if option.type == "bits" else drawn
    if option.type in (*INTEGER_RANGES, *_FLOATS, "string"):
        return _any(option) if whole else st.sampled_from(_usual(option))
    if option.type == "enum":
        found: list[object] = [option.name] if is_literal(option) else [*option.choices]
    else:
        found = [False, True]
    found = [value for value in found if whole or _is_usual(option, value)]
    return st.sampled_from(sorted(found, key=lambda value: value != option.default))


def can_draw(option: Option) -> bool:
    """Whether `values` knows values of the option."""
    return option.type not in ("other", "char") and bool(option.type != "list" or option.choices)


def _is_usual(option: Option, value: object) -> bool:
    """Whether a value is the registered one, or in `trusted_values`, such as "0..1000" or "1|2|4"."""
    trusted = option.trusted_values
    if not trusted or value == option.default:
        return True
    if ".." not in trusted:
        return str(value) in trusted.split("|")
    least, most = map(float, trusted.split(".."))
    return isinstance(value, int | float) and least <= value <= most


def _usual(option: Option) -> list[object]:
    """Numbers and texts that people set, from the registered value outwards.

    They are listed: Hypothesis draws from ranges and alphabets by what the loaded modules say as well.
    """
    default = option.default
    if not isinstance(default, int | float):
        return list(dict.fromkeys([default or "", *_TEXTS]))
    if option.type in _FLOATS:
        found: set[int | float] = {default, default / 2, default * 2, *_REALS}
    else:
        least, most = _bounds(option)
        near = {default + step for step in (-2, -1, 1, 2)} | {default // 2, default * 2}
        found = {number for number in (default, *near, *_COUNTS) if least <= number <= most}
    found = {number for number in found if number >= min(default, 0)}  # -1 is for options that use it
    ordered = sorted(found, key=lambda number: (abs(number - default), number < default))
    return [number for number in ordered if _is_usual(option, number)]


def _any(option: Option) -> SearchStrategy[object]:
    """All that LLVM's parser takes, integers by their distance from the registered value."""
    default = option.default
    if option.type == "string":
        return st.just(default or "") | _TEXT
    if option.type in _FLOATS:
        return st.just(default) | st.floats(width=_FLOATS[option.type], allow_nan=False)  # type: ignore[arg-type]
    least, most = _bounds(option)
    middle = min(max(default if isinstance(default, int) else 0, least), most)
    return st.integers(least - middle, most - middle).map(middle.__add__)


def _bounds(option: Option) -> tuple[int, int]:
    """The least and the largest integer that LLVM's parser accepts."""
    least, most = INTEGER_RANGES[option.type]
    return least, min([most, *(limit for end, limit in _MOST.items() if option.name.endswith(end))])


# Sets of overrides, and what is made of them


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
        options: The options to draw from, by default `options()`; those that `values` refuses are left out.
            Or a mapping from names to strategies, for values other than those of `values`.
        min_size, max_size: The least and the most overrides.
        whole: As in `values`.
        image: Of which LLVM, as in `options`.
    """
    if isinstance(options, Mapping):
        if not options:
            return st.just({})
        pairs = st.sampled_from(sorted(options)).flatmap(lambda name: st.tuples(st.just(name), options[name]))
    else:
        # Hypothesis writes a strategy with the code of its functions: this one is short.
        of_option = cache(lambda option: st.tuples(st.just(option.name), values(option, whole=whole)))
        drawn_from = _options(image=image) if options is None else options
        pairs = drawn_from.filter(can_draw).flatmap(lambda option: of_option(option))
    drawn = st.lists(
        pairs, min_size=min_size, max_size=max_size, unique_by=lambda pair: own_name(registry(image)[pair[0]])
    )
    return drawn.map(lambda found: dict(sorted(found)))


_options, _overrides = options, overrides  # which have the names of parameters


def contexts(
    overrides: SearchStrategy[Overrides] | None = None, *, image: Image | None = None
) -> SearchStrategy[OptionContext]:
    """Draw contexts with these overrides over LLVM's defaults. They shrink as the overrides do."""
    given = _overrides(image=image) if overrides is None else overrides
    return given.map(lambda drawn: OptionContext(drawn, base="defaults", image=image))


def jobs(
    ir: SearchStrategy[str] | SearchStrategy[str | bytes] | str | bytes | None = None,
    overrides: SearchStrategy[Overrides] | None = None,
    **parts: object,
) -> SearchStrategy[Job]:
    """Draw compilations: a module (by default from `modules()`), options (`overrides()`), and other fields of
    a `Job`, such as `passes` and `triple`. With `llvm`, options are those of that LLVM.

    Each part is a strategy or a value. A value is the same in every job. A job shrinks as its parts do.
    """
    given = {name: _drawn(part) for name, part in parts.items()}
    module = modules() if ir is None else _drawn(ir)
    under = contexts(overrides, image=image_of(str(parts.get("llvm", ""))))
    return st.builds(Job, ir=module, options=under.map(OptionContext.args), **given)


def _drawn(part: object) -> SearchStrategy[object]:
    return part if isinstance(part, SearchStrategy) else st.just(part)
