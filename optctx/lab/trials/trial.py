"""One compilation of an experiment, whichever experiment that is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

import msgspec

from optctx.children.death import End


@dataclass(frozen=True)
class Trial:
    """One set of option values, and what became of it. Plain data.

    `number` counts from 0 in the order of the experiment; a base is below that. `options` are those that
    count for it, with the texts of their values; "default" leaves one alone. `objectives` has a figure for
    each objective if `state` is "ok", and is empty otherwise. `seconds` is the wall time of its compilation
    while others compile too; what equals one of before counts with the time of then. `error`: the last line
    that LLVM printed, or how the process ended. `attributes`: what else is known, of JSON's types: the
    `digest` of the object (SHA-256 in hexadecimal), its `size` in bytes, the `instructions` of the IR after
    the passes; of run times their intervals. `file`: the name of what was compiled, if there are several.
    `agrees`: whether a fresh process gives the same, byte for byte; None if that was not compared.
    `difference`: what it gave instead, or why it could not be compared.
    """

    number: Annotated[int, msgspec.Meta(ge=-1, le=10_000_000)]
    options: Mapping[str, str]
    passes: str
    state: End
    objectives: Mapping[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    error: str = ""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    file: str = ""
    agrees: bool | None = None
    difference: str = ""

    @property
    def died(self) -> bool:
        """Whether the process that compiled it ended without an answer, and not for being late."""
        return self.state not in ("ok", "failed", "timed out", "wrong result")

    @property
    def digest(self) -> str:
        """SHA-256 of the object; "" if there is none."""
        return str(self.attributes.get("digest", ""))
