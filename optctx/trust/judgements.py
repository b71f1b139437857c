"""The class of every option: what it may do beside changing the generated code.

The judgements are data, `judgements.tsv`: one line for each option, with its type, its class, the values of a
number that belong to that class, and the reason. An option that is not there, or is there with another type,
has been judged by nobody, and counts as the worst.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final, Literal, cast, get_args

from optctx.engine.plan import PlannedOption
from optctx.image.typenames import type_name

__all__ = ["CLASSES", "Judgement", "TrustClass", "judgement_of"]

TrustClass = Literal["tuning", "output", "input", "code", "process"]
CLASSES: Final[tuple[TrustClass, ...]] = get_args(TrustClass)

_FILE = "judgements.tsv"


@dataclass(frozen=True)
class Judgement:
    """What an option may do, and why that was decided.

    tuning: only changes the generated code. output: prints, writes files or starts viewers. input: reads
    files. code: loads libraries or starts programs. process: ends the process, or changes more of it than
    this compilation. A number has its class between `least` and `most`; any other value counts as "process",
    because LLVM may end the process over it.
    """

    trust: TrustClass
    reason: str
    least: float = -math.inf
    most: float = math.inf


_UNKNOWN = Judgement("code", "nobody has judged this option of this LLVM")


def judgement_of(option: PlannedOption) -> Judgement:
    """The judgement of an option; aliases and names of choices have the one of their option."""
    record = option.record
    return _judgements().get((record.name, type_name(record.type.kind)), _UNKNOWN)


@cache
def _judgements() -> dict[tuple[str, str], Judgement]:
    text = files("optctx.trust").joinpath(_FILE).read_text(encoding="utf-8")
    lines = (line.split("\t") for line in text.splitlines() if line and not line.startswith("#"))
    return {
        (name, kind): Judgement(cast(TrustClass, trust), reason, *_bounds(values))
        for name, kind, trust, values, reason in lines
    }


def _bounds(values: str) -> tuple[float, float]:
    least, _, most = values.partition("..")
    return (float(least), float(most)) if values else (-math.inf, math.inf)
