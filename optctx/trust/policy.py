"""Checks options that come with a module against the classes and names that the program trusts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from optctx._native import Kind
from optctx.engine.attach import Engine
from optctx.engine.plan import PlannedOption
from optctx.errors import OptionTypeError, UnknownOptionError, UntrustedOptionError, shown
from optctx.trust.judgements import CLASSES, judgement_of

__all__ = ["TUNING", "Trust", "trusting"]

_LONGEST_NUMBER = 64  # characters; LLVM keeps the text of a few options for the life of the process
_NUMBERS = (
    Kind.int32,
    Kind.uint32,
    Kind.int64,
    Kind.uint64,
    Kind.float32,
    Kind.float64,
)


class Trust(NamedTuple):
    """The classes that are accepted, and the names of single options that are accepted with any value."""

    classes: frozenset[str]
    names: frozenset[str] = frozenset()

    def check(self, option: PlannedOption, name: str) -> None:
        """Raise UntrustedOptionError for an option that no value makes acceptable. `name`: as given."""
        judged = judgement_of(option)
        if option.record.name in self.names or judged.trust in self.classes:
            return
        raise UntrustedOptionError(
            f"{name!r} is not accepted from a module: its class is {judged.trust} ({judged.reason}), and "
            f"{self._accepted()}; leave it out, or pass trust={sorted({*self.classes, name})}",
            name,
            judged.trust,
        )

    def check_value(self, option: PlannedOption, name: str, value: object) -> None:
        """As `check`, for a value of an accepted option. `value`: as LLVM parsed it."""
        judged = judgement_of(option)
        if option.record.name in self.names or "process" in self.classes or judged.holds_for(value):
            return
        raise UntrustedOptionError(
            f"{name}={shown(value)} is not accepted from a module: LLVM may end the process over values "
            f"outside of {judged.values}; choose one of these, or pass trust={sorted({*self.classes, name})}",
            name,
            "process",
        )

    def check_text(self, option: PlannedOption, name: str, texts: Iterable[str | None]) -> None:
        """As `check`, for a text of an accepted option, before LLVM parses it."""
        if option.record.name in self.names or option.record.type.kind not in _NUMBERS:
            return
        for text in texts:
            if text is not None and len(text) > _LONGEST_NUMBER:
                raise UntrustedOptionError(
                    f"{name!r} is not accepted from a module: a number of {len(text)} characters, where "
                    f"{_LONGEST_NUMBER} are enough; write it shorter",
                    name,
                    "process",
                )

    def _accepted(self) -> str:
        accepted = ", ".join((*sorted(self.classes), *sorted(self.names)))
        return f"accepted are {accepted}" if accepted else "nothing is accepted"


TUNING: Final = Trust(frozenset(("tuning",)))


def trusting(engine: Engine, given: Iterable[str]) -> Trust:
    """Make a Trust from names of classes and options.

    Raises OptionTypeError if `given` is not a collection of strings, and UnknownOptionError for a string that
    is neither a class nor an option.
    """
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise OptionTypeError(
            f"trust is a collection of classes ({', '.join(CLASSES)}) and names of options, such as "
            f'("tuning", "output"), found {shown(given)}'
        )
    classes, names = set(), set()
    for each in given:
        if not isinstance(each, str):
            raise OptionTypeError(f"trust holds strings, found {shown(each)} of type {type(each).__name__}")
        if each in CLASSES:
            classes.add(str(each))
        elif each in engine.options:
            names.add(engine.resolve(engine.options[each]).record.name)
        else:
            raise UnknownOptionError(
                f"cannot trust {shown(each)}: it is no class ({', '.join(CLASSES)}) and no option of "
                f"{engine.image.path.rsplit('/', 1)[-1]}; `optctx list` shows every name",
                each,
            )
    return Trust(frozenset(classes), frozenset(names))
