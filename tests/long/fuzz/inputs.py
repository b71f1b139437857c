"""What a caller may pass: names that exist, names that nearly do, and values of every type."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from random import Random
from typing import Any

from optctx import Option, registry
from tests.long.fuzz.words import EDGES, TEXTS, misspelt

_BORDERS = (0, 1, *(2**bits - less for bits in (31, 32, 63, 64) for less in (1, 0)), 10**40)
_WORDS = (
    "true", "TRUE", "default", "none", "a,b", ":", "=", ",", ",,", "\\", "1.5", "1e400", "f:cold", "@file",
    "é", "-unroll-count", "\udc80", "\n",
)  # fmt: skip
_EXTRA = ("-", "--", " ", "_", "=", "\0", "é", "no-", "=1", ",", "\udc80")


def mostly(random: Random, usual: tuple[Any, ...], odd: tuple[Any, ...]) -> Any:
    return random.choice(usual if random.random() < 0.9 else odd)


def _text(random: Random) -> str:
    kind = random.randrange(4)
    if kind == 0:
        return "".join(
            chr(random.choice((random.randrange(128), random.randrange(0xD800)))) for _ in range(9)
        )
    if kind == 1:
        return random.choice((*EDGES, *TEXTS))
    return random.choice(_WORDS) if kind == 2 else "a" * 1000 * random.randint(1, 100)


_PLAIN: tuple[Callable[[Random], Any], ...] = (
    lambda random: random.randint(-1000, 1000),
    lambda random: random.choice((1, -1)) * random.choice(_BORDERS),
    lambda random: 10 ** random.randint(4000, 9000),  # str() gives up in between
    lambda random: random.choice((0.0, -1.5, 1e308, math.nan, math.inf, random.uniform(-9, 9))),
    lambda random: random.random() < 0.5,
    lambda random: None,
    lambda random: random.randbytes(3),
    _text,
    _text,
)


def _plain(random: Random) -> Any:
    return random.choice(_PLAIN)(random)


_ODD: tuple[Callable[[Random], Any], ...] = (
    *_PLAIN,
    lambda random: [_plain(random) for _ in range(random.randrange(4))],
    lambda random: (_plain(random),),
    lambda random: {_text(random)},
    lambda random: {_text(random): 3},
    lambda random: random.choice((..., range(3), 1j, frozenset(), [[]], [None], ["a", 1])),
)


def _anything(random: Random) -> Any:
    return random.choice(_ODD)(random)


@cache
def _by_type() -> list[list[Option]]:
    """Options by type; those that cannot be scoped are a kind of their own."""
    kinds: dict[str, list[Option]] = {}
    for option in registry().values():
        kinds.setdefault("" if option.scope == "process" else option.type, []).append(option)
    return [kinds[kind] for kind in sorted(kinds)]


def _value(random: Random, option: Option) -> Any:
    """Mostly what the option may take, or nearly."""
    choices = list(option.choices)
    if random.random() < 0.1:
        return _anything(random)
    if choices:
        return random.choice((random.choice(choices), random.sample(choices, min(len(choices), 3))))
    if option.type in ("bool", "boolOrDefault"):
        return random.choice((True, False, "true", "false", "default"))
    if option.type in ("int", "uint", "int64", "uint64"):
        return random.choice((random.randint(0, 64), random.randrange(2**31)))
    if option.type in ("float", "double"):
        return random.choice((random.uniform(0, 100), random.uniform(-1e38, 1e38)))
    return [_text(random) for _ in range(random.randrange(4))] if option.type == "list" else _text(random)


def _setting(random: Random) -> tuple[Any, Any]:
    """(name, value): any kind of option as often as any other, now and then no option at all."""
    option = random.choice(random.choice(_by_type()))
    if random.random() < 0.9:
        return option.name, _value(random, option)
    extra = random.choice(_EXTRA)
    near = (misspelt(random, option.name), extra + option.name, option.name + extra, *option.choices)
    return random.choice((random.choice(near), _plain(random))), _anything(random)


def draw_overrides(random: Random) -> Any:
    pairs = [_setting(random) for _ in range(random.randint(1, 2))]
    return dict(pairs) if random.random() < 0.9 else _anything(random)


def draw_keywords(random: Random) -> tuple[tuple[str, Any], ...]:
    name, value = _setting(random)
    if not isinstance(name, str) or name in ("base", "self") or random.random() < 0.7:
        return ()
    return ((name.replace("-", "_"), value),)


def draw_line(random: Random) -> Any:
    words = [word for _ in range(random.randrange(4)) for word in _words(random)]
    odd = (tuple(words), _text(random), _anything(random) or "")
    return mostly(random, (words, " ".join(words)), odd)


def _words(random: Random) -> list[str]:
    """One setting as it may stand on a command line."""
    try:
        name, value = map(str, _setting(random))
    except ValueError:  # an int of more digits than str() gives
        name, value = "unroll-count", "9" * 5000
    start = random.choice(("-", "-", "-", "-", "--", "--", "", "---")) + name
    return random.choice(([f"{start}={value}"], [f"{start}={value}"], [start], [start, value]))
