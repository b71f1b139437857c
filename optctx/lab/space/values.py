"""The values that one dimension of a space can take."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from optctx.errors import OptctxError, shown

Value = int | float | str

_LARGEST = 1 << 53  # Optuna keeps whole numbers as floats


@dataclass(frozen=True)
class Integers:
    """Whole numbers from `low` to `high`, both included. `log`: small ones are as interesting as large
    ones.
    """

    low: int
    high: int
    step: int = 1
    log: bool = False

    @property
    def count(self) -> float:
        return (self.high - self.low) // self.step + 1

    @property
    def ends(self) -> tuple[str, ...]:
        """What LLVM judges."""
        return tuple(dict.fromkeys((str(self.low), str(self.at(int(self.count) - 1)))))

    def each(self) -> Iterator[Value]:
        return iter(range(self.low, self.high + 1, self.step))

    def at(self, place: int) -> int:
        """The number that is so many steps above the lowest."""
        return self.low + place * self.step

    def __str__(self) -> str:
        step = f":step={self.step}" if self.step != 1 else ""
        return f"{self.low}..{self.high}{':log' if self.log else ''}{step}"


@dataclass(frozen=True)
class Floats:
    """Numbers from `low` to `high`, both included, for a search. A grid cannot list them."""

    low: float
    high: float
    log: bool = False

    @property
    def count(self) -> float:
        return math.inf

    @property
    def ends(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((repr(self.low), repr(self.high))))

    def each(self) -> Iterator[Value]:
        """Raises OptctxError."""
        raise OptctxError(
            f"cannot list the values of {self}: a range of decimal numbers is for a search; write the "
            f"values, such as {self.low!r},{self.high!r}"
        )

    def __str__(self) -> str:
        return f"{self.low!r}..{self.high!r}{':log' if self.log else ''}"


@dataclass(frozen=True)
class Choices:
    """Texts, as on a command line. "default" leaves the option alone."""

    texts: tuple[str, ...]

    @property
    def count(self) -> float:
        return len(self.texts)

    @property
    def ends(self) -> tuple[str, ...]:
        return self.texts

    def each(self) -> Iterator[Value]:
        return iter(self.texts)

    def __str__(self) -> str:
        return ",".join(self.texts)


Values = Integers | Floats | Choices


def parse_values(text: str, setting: str) -> Values:
    """From "1..64", "1..64:log", "0..1024:step=16", "0.1..2.5" or "a,b,c".

    `setting`: what is being read, for messages. Raises OptctxError.
    """
    low, dots, rest = text.partition("..")
    if not dots or number_of(low) is None:
        return _choices(text, setting)
    high, *suffixes = rest.split(":")
    if low.endswith(".") or high.startswith("."):
        raise OptctxError(
            f"cannot read {shown(setting)}: expected two dots between the ends, such as 1..16 or 0.5..2.0"
        )
    if number_of(high) is None:
        raise OptctxError(f"cannot read {shown(setting)}: expected a number after '..', found {shown(high)}")
    log, step = False, None
    for suffix in suffixes:
        name, equals, value = suffix.partition("=")
        if suffix == "log":
            log = True
        elif name == "step" and equals and number_of(value) is not None:
            step = value
        else:
            raise OptctxError(
                f"cannot read {shown(setting)}: expected ':log' or ':step=NUMBER' after the range, found "
                f"{shown(':' + suffix)}"
            )
    return _range(low.strip(), high.strip(), step, log, setting)


def number_of(text: str) -> float | None:
    """The finite number that a text is, if it is one."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _choices(text: str, setting: str) -> Choices:
    texts = tuple(dict.fromkeys(each.strip() for each in text.split(",")))
    if len(texts) > 1 and "" in texts:
        raise OptctxError(f"empty value in {shown(setting)}; take out the extra comma")
    return Choices(texts)


def _range(low: str, high: str, step: str | None, log: bool, setting: str) -> Integers | Floats:
    def refuse(why: str) -> OptctxError:
        return OptctxError(f"cannot read {shown(setting)}: {why}")

    if log and step is not None:
        raise refuse("a range has ':log' or ':step', not both; take one of them out")
    if float(low) > float(high):
        raise refuse(f"{low} is more than {high}; write {high}..{low}")
    if log and float(low) <= 0:
        raise refuse(f"a logarithmic range begins above 0, found {low}; begin at 1")
    if step is not None and float(step) <= 0:
        raise refuse(f"expected a step above 0, found {step}")
    if max(abs(float(low)), abs(float(high))) > _LARGEST:
        raise refuse(f"the ends of a range are at most {_LARGEST:,}; list the values instead")
    try:
        return Integers(int(low), int(high), 1 if step is None else int(step), log)
    except ValueError:
        if step is not None:
            raise refuse("a step is of whole numbers; list the values instead, such as 0.5,1.0,1.5") from None
        return Floats(float(low), float(high), log)
