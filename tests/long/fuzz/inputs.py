"""Hypothesis strategies for cases: names that exist, names that nearly do, and whatever a caller may pass."""

from __future__ import annotations

import string
from functools import cache

from hypothesis import strategies as st

from optctx import Option, registry
from tests.long.fuzz.case import Case

__all__ = ["cases"]

EDGES = [0, 1, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**63 - 1, 2**63, 2**64 - 1, 2**64, 10**40]
WORDS = [
    "", "true", "false", "TRUE", "1", "0", "-1", "+1", "0x10", "0b1", "010", "1e400", "nan", "inf", "1.5",
    "-", "--", "=", ",", ",,", "a,b", "all", "none", "*", "(", "[", "a{1", "\\", "\0", "a\0b", "é", "\udc80",
    "\U0001f600", "%s%n", "default", ":", "main:3", "f:cold", "-unroll-count", "@file", "/dev/stdin",
    "/dev/null", " ", "\n",
]  # fmt: skip
TEXT = st.one_of(
    st.text(max_size=20),
    st.sampled_from(WORDS),
    st.sampled_from(EDGES).map(str),
    st.integers(1, 100).map(lambda times: "a" * 1000 * times),
)
PLAIN = st.one_of(
    st.integers(),
    st.sampled_from(EDGES),
    st.sampled_from(EDGES).map(lambda edge: -edge),
    st.integers(4000, 9000).map(lambda digits: 10**digits),  # str() gives up in between
    st.floats(),
    st.booleans(),
    st.none(),
    st.binary(max_size=4),
    TEXT,
)
ANYTHING = st.one_of(
    PLAIN,
    st.lists(PLAIN, max_size=3),
    st.tuples(PLAIN),
    st.sets(st.text(max_size=3), max_size=2),
    st.dictionaries(TEXT, st.integers(), max_size=2),
    st.sampled_from([object, len, ..., range(3), 1j, frozenset(), [[]], [None], ["a", 1]]),
)
EXTRA = st.sampled_from(["", "-", "--", " ", "_", "=", "\0", "é", "no-", "=1", ",", "\udc80"])


def mostly(usual: st.SearchStrategy[object], odd: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    """One in ten is odd, however many kinds of those there are: `one_of` gives each kind as much room."""
    return st.integers(0, 9).flatmap(lambda dice: odd if dice == 9 else usual)


@cache
def _names() -> list[str]:
    return sorted(registry())


@cache
def _choices() -> list[str]:
    return sorted({choice for option in registry().values() for choice in option.choices})


@cache
def _by_type() -> list[list[Option]]:
    """Options by type; those that cannot be scoped are a kind of their own."""
    kinds: dict[str, list[Option]] = {}
    for option in registry().values():
        kinds.setdefault("" if option.scope == "process" else option.type, []).append(option)
    return [kinds[kind] for kind in sorted(kinds)]


@st.composite
def near_misses(draw: st.DrawFn) -> str:
    """A name with a letter too few, too many, or another; or with something before or after it."""
    name = draw(st.sampled_from(_names()))
    at = draw(st.integers(0, len(name) - 1))
    return draw(
        st.one_of(
            st.just(name[:at] + name[at + 1 :]),
            st.sampled_from(string.ascii_letters).map(lambda letter: name[:at] + letter + name[at:]),
            st.just(name.upper()),
            st.just(name.replace("-", "_")),
            EXTRA.map(lambda extra: extra + name),
            EXTRA.map(lambda extra: name + extra),
        )
    )


def _values(option: Option) -> st.SearchStrategy[object]:
    """Mostly what the option may take, or nearly."""
    fitting: list[st.SearchStrategy[object]] = []
    choices = list(option.choices)
    if choices:
        fitting += [st.sampled_from(choices), st.lists(st.sampled_from(choices), max_size=3)]
    elif option.type in ("bool", "boolOrDefault"):
        fitting += [st.booleans(), st.sampled_from(["true", "false", "default"])]
    elif option.type in ("int", "uint", "int64", "uint64"):
        fitting += [st.integers(0, 64), st.integers(0, 2**31 - 1)]
    elif option.type in ("float", "double"):
        fitting += [st.floats(0, 100), st.floats(width=32)]
    elif option.type == "list":
        fitting += [st.lists(st.text(max_size=5), max_size=4)]
    return mostly(st.one_of(fitting), ANYTHING) if fitting else mostly(TEXT, ANYTHING)


@st.composite
def settings_of_options(draw: st.DrawFn) -> tuple[object, object]:
    """(name, value): any kind of option as often as any other, now and then no option at all."""
    if draw(st.integers(0, 9)) < 9:
        option = draw(st.sampled_from(draw(st.sampled_from(_by_type()))))
        return option.name, draw(_values(option))
    names = [near_misses(), st.sampled_from(_choices()), TEXT, PLAIN]
    return draw(st.one_of(names)), draw(ANYTHING)


@st.composite
def _words(draw: st.DrawFn) -> list[str]:
    """One setting as it may stand on a command line."""
    name, value = draw(settings_of_options())
    try:
        name, value = str(name), str(value)
    except ValueError:  # an int of more digits than str() gives
        name, value = "unroll-count", "9" * 5000
    dashes = draw(st.sampled_from(["-", "-", "--", "-", "-", "--", "", "---"]))
    shape = draw(st.integers(0, 3))
    return [f"{dashes}{name}={value}"] if shape < 2 else [f"{dashes}{name}"] + [value] * (shape - 2)


def _lines() -> st.SearchStrategy[object]:
    words = st.lists(_words(), max_size=3).map(lambda found: [word for one in found for word in one])
    other = ANYTHING.filter(lambda line: line is not None)
    return mostly(st.one_of(words, words.map(" ".join)), st.one_of(TEXT, words.map(tuple), other))


def _overrides() -> st.SearchStrategy[object]:
    pairs = st.lists(settings_of_options(), min_size=1, max_size=2).map(dict)
    return mostly(pairs, ANYTHING)


MODES = st.sampled_from([*["refuse", "exclusive"] * 8, None, "", "no"])
BASES = st.sampled_from([*["defaults", "inherit"] * 8, None, "", 3])
OUTERS = st.sampled_from(
    [None, None, {"unroll-count": 3}, {"inline-threshold": -1, "force-attribute": ["f:cold"]}]
)


@st.composite
def _keywords(draw: st.DrawFn) -> tuple[tuple[str, object], ...]:
    name, value = draw(settings_of_options())
    name = str(name) if isinstance(name, str) else "unroll_count"
    return () if name in ("base", "process_wide", "self") else ((name.replace("-", "_"), value),)


def cases() -> st.SearchStrategy[Case]:
    """Inputs of every shape; a share of them compiles."""
    mapping = {"overrides": _overrides(), "keywords": st.one_of(st.just(()), st.just(()), _keywords())}
    line = {"line": _lines()}
    more = {"base": BASES, "process_wide": MODES, "outer": OUTERS, "enter": st.booleans()}
    compiling = {
        "process_wide": st.sampled_from(["refuse", "exclusive"]),
        "enter": st.just(True),
        "compile": st.just(True),
    }
    return st.one_of(
        st.builds(Case, **mapping, **more),
        st.builds(Case, **line, **more),
        st.builds(Case, **mapping, **more),
        st.builds(Case, **line, **more),
        st.builds(Case, **{"overrides": _overrides()}, **compiling),
    )
