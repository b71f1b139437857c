"""The trust class of every option: what it may do besides changing the generated code.

The judgements are data, in `judgements.tsv`. There is a line for each option, with its type, its class, the
values that belong to the class if not all do ("0..1000" or "1|2|4"), and the reason. An option without a line
for its name and type has not been judged, and counts as "code", the worst.
"""

from __future__ import annotations

from functools import cache
from typing import Final, Literal, NamedTuple, cast, get_args

from optctx.engine.plan import PlannedOption
from optctx.image.typenames import type_name

__all__ = ["CLASSES", "Judgement", "TrustClass", "judgement_of"]

TrustClass = Literal["tuning", "output", "input", "code", "process"]
CLASSES: Final[tuple[TrustClass, ...]] = get_args(TrustClass)

_FILE = "judgements.tsv"


class Judgement(NamedTuple):
    """What an option may do, and why that was decided.

    tuning: only changes the generated code. output: prints, writes files or starts viewers. input: reads
    files. code: loads libraries or starts programs. process: ends the process, or changes more of it than
    this compilation. `values`: the values that have the class, as in the data; empty for all. Any other value
    counts as "process", because LLVM may end the process over it.
    """

    trust: TrustClass
    reason: str
    values: str = ""

    def holds_for(self, value: object) -> bool:
        """Whether the option has its class with this value, which is as `registry()` returns it."""
        least, between, most = self.values.partition("..")
        if between:
            return isinstance(value, int | float) and float(least) <= value <= float(most)  # false for NaN
        return not self.values or str(value) in self.values.split("|")


_UNKNOWN = Judgement("code", "this option of this LLVM has not been judged")


def judgement_of(option: PlannedOption) -> Judgement:
    """The judgement of an option. Aliases and literal choices have that of their option."""
    record = option.record
    return _judgements().get((record.name, type_name(record.type.kind)), _UNKNOWN)


@cache
def _judgements() -> dict[tuple[str, str], Judgement]:
    from importlib.resources import files  # takes a tenth of the time of importing optctx

    text = files("optctx.trust").joinpath(_FILE).read_text(encoding="utf-8")
    lines = (line.split("\t") for line in text.splitlines() if line and not line.startswith("#"))
    return {
        (name, kind): Judgement(cast(TrustClass, trust), reason, values)
        for name, kind, trust, values, reason in lines
    }
