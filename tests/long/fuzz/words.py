"""Options as they may stand in an attribute or a stamp: those that are accepted, and hostile ones."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from random import Random

from optctx import Option, registry
from optctx.engine.attach import attach
from optctx.image.abi import INTEGER_RANGES
from optctx.values import read_for_all
from tests.long.probe import hostile_values, spread_values, tuning_options

_ODD = ("1" + "0" * 40, "0x7fffffff", "0b11", "-0", "007", "+1", " 1", "1 ", "(", "[", "a{9999}", "%s%n",
        "/dev/null", "/proc/self/mem", "/tmp", "..", "-", "@/etc/passwd", "|id", "$(id)", "`id`", "\0",
        "\xff")  # fmt: skip


@dataclass(frozen=True)
class Setting:
    """An option and its text; None for none (-name)."""

    name: str
    text: str | None

    def word(self, dashes: str = "-") -> str:
        """As on a command line."""
        return f"{dashes}{self.name}" + ("" if self.text is None else f"={self.text}")


def without_avoided(avoided: Iterable[frozenset[str]], settings: list[Setting]) -> list[Setting]:
    """Without one option of each set that is all there."""
    names = {setting.name for setting in settings}
    for together in avoided:
        if together and together <= names:
            names.remove(min(together))
    return [setting for setting in settings if setting.name in names]


def name_of(word: str) -> str:
    """The option of a word."""
    return word.lstrip("-").partition("=")[0]


def known_value(name: str) -> object:
    """The process-wide value of an option, if there is one of that name."""
    option = registry().get(name)
    return None if option is None else (repr(option.value), option.occurrences)


@cache
def _tuning() -> list[Option]:
    """Those that functions can set, in order of name."""
    engine = attach()
    found = tuning_options()
    return [each for each in found if not read_for_all(engine.resolve(engine.options[each.name]))]


@cache
def _others() -> list[Option]:
    """Those that a module may not set, by class, and those that no function can have for itself."""
    tuning = {option.name for option in _tuning()}
    return [option for name, option in sorted(registry().items()) if name not in tuning]


def accepted(random: Random) -> Setting:
    """An option of class tuning and a value of it that belongs to the class."""
    option = random.choice(_tuning())
    return Setting(option.name, _inside(random, option))


def hostile(random: Random) -> Setting:
    """An option that is not accepted, or a value that is not, or nothing of the sort at all."""
    dice = random.random()
    if dice < 0.5:
        option = random.choice(_others())
        return Setting(option.name, random.choice((None, *hostile_values(option))))
    option = random.choice(_tuning())
    if dice < 0.75:
        return Setting(option.name, random.choice((*_ODD, *hostile_values(option), _outside(random, option))))
    return Setting(_misspelt(random, option.name), _inside(random, option))


def garbage(random: Random) -> bytes:
    """No options at all."""
    size = random.choice((0, 1, 5, 50, 1000, 16_000, 17_000, 200_000))
    words = (hostile(random).word(random.choice(("", "-", "--", "---"))) for _ in range(min(size, 300)))
    odd = random.choice((b"a", b"'", b'"', b"\\", b"\0", b"\xff", b"-", b" ", b"="))
    return random.choice(
        (
            lambda: random.randbytes(size),
            lambda: b"-unroll-count=" + b"9" * size,
            lambda: b"-" + odd * size,
            lambda: b"-unroll-count=3 " * (size // 16),
            lambda: bytes(random.choices(b"-=\"'\\ \n\t\0#@,:", k=min(size, 1000))),
            lambda: "".join(map(chr, random.choices(range(1, 0xD800), k=min(size, 1000)))).encode(),
            lambda: " ".join(words).encode("utf-8", "surrogateescape"),
        )
    )()


def _inside(random: Random, option: Option) -> str:
    least, between, most = option.trusted_values.partition("..")
    if between and option.type in INTEGER_RANGES and random.random() < 0.6:
        whole = random.randrange(1 << random.randrange(1, 64))
        return str(min(max(whole, int(float(least))), int(float(most))))
    return random.choice(spread_values(option))


def _outside(random: Random, option: Option) -> str:
    least, between, most = option.trusted_values.partition("..")
    if not between:
        return random.choice((*_ODD, *option.choices))
    low, high = float(least), float(most)
    if option.type in ("float", "double"):
        return repr(random.choice((low - 1.0, high * 1.001, high * 2, 1e300, -1e300)))
    return str(
        random.choice((int(low) - 1, int(high) + 1, int(high) * 2 + 1, 2**31 - 1, 2**32 - 1, 2**64 - 1))
    )


def _misspelt(random: Random, name: str) -> str:
    """The name with a letter too few or another, or with something before or after it."""
    at = random.randrange(len(name))
    before, after = name[:at], name[at:]
    return random.choice(
        (before + after[1:], name.upper(), f"{name}\0", f"{name} ", f"no-{name}", f"{before}é{after}")
    )
