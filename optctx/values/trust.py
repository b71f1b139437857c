"""The trust class of every option, and checks of what comes with a module against what the program trusts.

A class says what an option may do besides changing the generated code. The judgements are data, in
`judgements.tsv`. There is a line for each option, with its type, its class, the values that belong to the
class if not all do ("0..1000" or "1|2|4"), and the reason. A last word stands where no function can have the
option for itself: "pipeline" or "module", for when LLVM reads it. An option without a line for its name and
type has not been judged, and counts as "code", the worst.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cache
from typing import Any, Final, Literal, NamedTuple, cast, get_args

from optctx.engine.engine import Engine
from optctx.errors import OptionTypeError, UnknownOptionError, UntrustedOptionError, shown
from optctx.image.abi import FLOATS, INTEGERS, type_name
from optctx.image.options import RegisteredOption
from optctx.plan.ways_in import belongs_to_machine

TrustClass = Literal["tuning", "output", "input", "code", "process"]
CLASSES: Final[tuple[TrustClass, ...]] = get_args(TrustClass)


class Judgement(NamedTuple):
    """What an option may do, and why that was decided.

    tuning: only changes the generated code. output: prints, writes files or starts viewers. input: reads
    files. code: loads libraries or starts programs. process: ends the process, or changes more of it than
    this compilation. `values`: the values that have the class, as in the data; empty for all. Any other value
    counts as "process", because LLVM may end the process over it. `shared`: when LLVM reads it, if that is
    not in the passes of one function: while it makes the "pipeline", or in passes over the whole "module".
    """

    trust: TrustClass
    reason: str
    values: str = ""
    shared: Literal["", "pipeline", "module"] = ""

    def holds_for(self, value: object) -> bool:
        """Tell whether the option has its class with this value, which is as `registry()` returns it."""
        least, between, most = self.values.partition("..")
        if between:
            return isinstance(value, int | float) and float(least) <= value <= float(most)  # false for NaN
        return not self.values or str(value) in self.values.split("|")


_UNKNOWN = Judgement("code", "this option of this LLVM has not been judged")


def judgement_of(option: RegisteredOption) -> Judgement:
    """Return the judgement of an option. Aliases and literal choices have that of their option."""
    return _judgements().get((option.name, type_name(option.type.kind)), _UNKNOWN)


@cache
def _judgements() -> dict[tuple[str, str], Judgement]:
    with open(os.path.join(os.path.dirname(__file__), "judgements.tsv"), encoding="utf-8") as file:
        text = file.read()
    lines = (line.split("\t") for line in text.splitlines() if line and not line.startswith("#"))
    return {
        (name, kind): Judgement(cast(TrustClass, trust), reason, values, *cast(Any, shared))
        for name, kind, trust, values, reason, *shared in lines
    }


def read_for_all(option: RegisteredOption) -> str:
    """Say when LLVM reads an option that no function can have for itself; "" for one that a function can."""
    if belongs_to_machine(option):
        return "when it makes a target machine, which all functions of a module share"
    return {
        "": "",
        "pipeline": "while it makes the pipeline, which all functions of a module share",
        "module": "in passes over the whole module",
    }[judgement_of(option).shared]


_LONGEST_NUMBER = 64  # characters; LLVM keeps the text of a few options for the life of the process


class Trust(NamedTuple):
    """The classes that are accepted, and the names of single options that are accepted with any value."""

    classes: frozenset[str]
    names: frozenset[str] = frozenset()

    def check(self, option: RegisteredOption, name: str) -> None:
        """Raise UntrustedOptionError for an option that no value makes acceptable. `name`: as given."""
        judged = judgement_of(option)
        if option.name in self.names or judged.trust in self.classes:
            return
        raise UntrustedOptionError(
            f"{name!r} is not accepted from a module: its class is {judged.trust} ({judged.reason}), and "
            f"{self._accepted()}; leave it out, or pass trust={sorted({*self.classes, name})}",
            name,
            judged.trust,
        )

    def check_value(self, option: RegisteredOption, name: str, value: object) -> None:
        """Raise as `check` does for a value of an accepted option. `value`: as LLVM parsed it."""
        judged = judgement_of(option)
        if option.name in self.names or "process" in self.classes or judged.holds_for(value):
            return
        raise UntrustedOptionError(
            f"{name}={shown(value)} is not accepted from a module: LLVM may end the process over values "
            f"outside of {judged.values}; choose one of these, or pass trust={sorted({*self.classes, name})}",
            name,
            "process",
        )

    def check_text(self, option: RegisteredOption, name: str, texts: Iterable[str | None]) -> None:
        """Raise as `check` does for a text of an accepted option, before LLVM parses it."""
        if option.name in self.names or option.type.kind not in INTEGERS + FLOATS:
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
        elif (option := engine.options.get(each)) is not None:
            names.add(engine.resolve(option).name)
        else:
            raise UnknownOptionError(
                f"cannot trust {shown(each)}: it is no class ({', '.join(CLASSES)}) and no option of "
                f"{engine.image.path.rsplit('/', 1)[-1]}; `optctx options` shows every name",
                each,
            )
    return Trust(frozenset(classes), frozenset(names))
