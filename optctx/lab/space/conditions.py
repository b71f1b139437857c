"""When a dimension of a space counts: only for some values of other dimensions."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from optctx.errors import OptctxError, shown
from optctx.lab.space.values import number_of

_FORM = re.compile(r"(?P<name>[^\s=!<>]+)\s*(?P<sign>==|!=|<=|>=|<|>)\s*(?P<value>.+)")
_ORDERS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True)
class Comparison:
    """One option beside a value."""

    name: str
    sign: str
    value: str

    def holds(self, chosen: Mapping[str, str]) -> bool:
        """Whether it is so. An option that does not count itself makes it false."""
        text = chosen.get(self.name)
        if text is None:
            return False
        here, there = number_of(text), number_of(self.value)
        if self.sign in ("==", "!="):
            same = here == there if here is not None and there is not None else text == self.value
            return same is (self.sign == "==")
        return here is not None and there is not None and _ORDERS[self.sign](here, there)

    def __str__(self) -> str:
        return f"{self.name}{self.sign}{self.value}"


@dataclass(frozen=True)
class Condition:
    """Comparisons that all have to hold."""

    comparisons: tuple[Comparison, ...]

    @property
    def names(self) -> list[str]:
        """The dimensions that it asks for."""
        return [each.name for each in self.comparisons]

    def holds(self, chosen: Mapping[str, str]) -> bool:
        return all(each.holds(chosen) for each in self.comparisons)

    def __str__(self) -> str:
        return " and ".join(map(str, self.comparisons))


def parse_condition(text: str, setting: str) -> Condition:
    """From "enable-x==true and unroll-count>1". Raises OptctxError; `setting` is what is being read."""
    comparisons = []
    for part in re.split(r"\s+and\s+", text.strip()):
        found = _FORM.fullmatch(part)
        if found is None:
            raise OptctxError(
                f"cannot read {shown(setting)}: expected a condition such as enable-gvn-hoist==true, found "
                f"{shown(part)}"
            )
        name, value = found["name"].lstrip("-"), found["value"].strip()
        if found["sign"] not in ("==", "!=") and number_of(value) is None:
            raise OptctxError(
                f"cannot read {shown(setting)}: expected a number after {found['sign']!r}, found "
                f"{shown(value)}"
            )
        comparisons.append(Comparison(name, found["sign"], value))
    return Condition(tuple(comparisons))
