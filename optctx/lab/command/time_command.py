"""Compile a file under a base and under each --against, compare what the code computes, and time both in the
same rounds on one processor. What was faster is measured a second time. Exit status 0 if a gain is confirmed,
1 if none is or a result is wrong, 2 for bad input, 130 after Ctrl-C.

    optctx time kernel.c --against='-force-vector-width=8 -unroll-count=4'
    optctx time kernel.ll --set force-vector-width=1 --against=-force-vector-width=4 --harness sums.py
"""

from __future__ import annotations

from dataclasses import dataclass

from optctx.lab.command.console import partly, printed, say, show, status
from optctx.lab.command.groups import Base, File, Input, Out
from optctx.lab.outcome import Limits
from optctx.lab.settings import group, setting
from optctx.lab.timing import Compared, compare_settings
from optctx.lab.timing.bench import Measuring


@dataclass(frozen=True)
class Arguments(File):
    """What `optctx time` takes."""

    against: tuple[str, ...] = setting(
        (),
        "options on top of the base's, as opt takes them; repeat for more sets",
        metavar="'ARGS'",
        required=True,
    )
    input: Input = group(Input)
    base: Base = group(Base)
    measuring: Measuring = group(Measuring)
    limits: Limits = group(Limits, "jobs")
    out: Out = group(Out)


def run(given: Arguments) -> int:
    """Time, and print the rows. Raises OptctxError and OSError."""
    base = given.base.context(given.input.image)
    job = given.input.under(given.base).job(given.file)
    kernel = given.measuring.kernel(given.file, job)

    def so_far(found: Compared) -> str:
        _print(found, given.out.format)
        return "; what was not measured twice is not confirmed"

    with partly(so_far), status() as tell:
        found = compare_settings(
            job,
            kernel,
            given.against,
            base=base.args(),
            limits=given.limits,
            progress=tell,
        )
    _print(found, given.out.format)
    return 0 if found.gains and all(row.timing.state != "wrong result" for row in found.rows) else 1


def _print(found: Compared, form: str) -> None:
    if printed(form, lambda: found):
        return
    show(found.table())
    say("", *_summary(found))


def _summary(found: Compared) -> list[str]:
    gains = found.gains
    words = "no gain is confirmed"
    wrong = [
        f"{' '.join(row.options)}: {row.timing.state}: {row.timing.error}"
        for row in found.rows
        if row.timing.state != "ok"
    ]
    if gains and (ratio := gains[0].ratio) is not None:
        words = f"fastest: {' '.join(gains[0].options)}, {ratio.middle:.2f} times as fast as the base"
    return [*wrong, words]
