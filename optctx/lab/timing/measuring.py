"""The settings of a measurement of run time, which every command that measures has as its flags."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import ClassVar

from optctx.errors import OptctxError
from optctx.lab.settings import Number, seconds, setting
from optctx.lab.timing.results import Tolerance


def read_tolerance(text: str) -> Tolerance:
    """Read REL or REL,ABS. Raises argparse.ArgumentTypeError for other texts."""
    try:
        return Tolerance(*map(float, text.split(",")))
    except (ValueError, TypeError, OptctxError):  # no number, too many, below 0
        raise argparse.ArgumentTypeError(
            f"expected REL or REL,ABS, such as 1e-6 or 0,1e-9, found {text!r}"
        ) from None


@dataclass(frozen=True)
class Measuring:
    """How run times are measured. An objective's identity says what of it a study depends on."""

    title: ClassVar[str] = "run time"
    entry: str = setting(
        "",
        "what to call (as the harness says; without one, a function without arguments)",
        metavar="FUNCTION",
    )
    harness: str = setting("", "what it is called with, in TOML (FILE.toml beside the file)", metavar="FILE")
    tolerance: Tolerance = setting(  # noqa: RUF009  frozen
        Tolerance(),
        "difference of floats that is no wrong result: relative, absolute, either is enough (0: every bit "
        "counts)",
        metavar="REL[,ABS]",
        read=read_tolerance,
    )
    measure_seconds: float = setting(
        5.0,
        "for the run times of up to eight candidates, which are taken together (%(default)s)",
        metavar="S",
        read=seconds,
    )
    processor: int | None = setting(
        None,
        "where kernels are timed (one that is free, isolated ones first)",
        metavar="N",
        read=Number(int, "the number of a processor, such as 1", lambda found: found >= 0),
    )
    command: str = setting(
        "",
        "a program to measure by instead: it prints a number last; '{object}' stands for the object's path",
        metavar="'PROGRAM {object}'",
    )
