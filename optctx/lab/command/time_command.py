"""Compile a file under a base and under each --against, compare what the code computes, and time both in the
same rounds on one processor. What was faster is measured a second time. Exit status 0 if a gain is confirmed,
1 if none is or a result is wrong, 2 for bad input, 3 if the processor stays taken by another measurement, 130
after Ctrl-C.

    optctx time kernel.c --against='-force-vector-width=8 -unroll-count=4'
    optctx time kernel.c --entry total > kernel.toml   # the harness to fill in
    optctx time kernel.c --against=-unroll-count=4 --command './time-it.sh {object}'
    optctx time --again study.wrong/case.toml
"""

from __future__ import annotations

from dataclasses import dataclass

from optctx.errors import Interrupted, OptctxError
from optctx.lab.command.console import printed, put, say, show, status
from optctx.lab.command.groups import FILE, Base, Input, Out, out
from optctx.lab.outcome import Limits
from optctx.lab.settings import argument, group, setting
from optctx.lab.timing import (
    Compared,
    Measuring,
    NoHarnessError,
    compare_settings,
    find_harness,
    read_case,
)
from optctx.tables import Table


@dataclass(frozen=True)
class Arguments:
    """What `optctx time` takes."""

    file: str | None = argument(FILE, None, metavar="FILE", nargs="?")
    against: tuple[str, ...] = setting(
        (),
        "options on top of the base's, as opt takes them; repeat for more sets",
        metavar="'ARGS'",
        several=True,
        options=True,
    )
    again: str | None = setting(
        None, "instead of a file: run a case of a wrong result again", metavar="CASE.toml"
    )
    input: Input = group(Input)
    base: Base = group(Base)
    measuring: Measuring = group(Measuring)
    limits: Limits = group(Limits, "jobs")
    out: Out = out("table", "json")


def run(given: Arguments) -> int:
    """Time, and print the rows. Raises OptctxError and OSError."""
    if given.again is not None:
        if given != Arguments(again=given.again, out=given.out):
            raise OptctxError(
                "a case has a module, options, a harness and a tolerance of its own; leave out FILE and all "
                "flags beside --again, --format and --output"
            )
        outcome = read_case(given.again).run()
        if not printed(given.out.format, lambda: outcome):
            say(f"{outcome.state}{': ' if outcome.error else ''}{outcome.error}")
        return 0 if outcome.state == "ok" else 1
    if given.file is None:
        raise OptctxError("nothing to time: name a FILE and options for --against, or a case with --again")
    measuring = given.measuring
    job = given.input.under(given.base).job(given.file)
    if measuring.command and measuring != Measuring(
        command=measuring.command, measure_seconds=measuring.measure_seconds
    ):
        raise OptctxError(
            "a command runs the object itself and compares no results; leave out --command, or --entry, "
            "--harness, --tolerance and --processor"
        )
    try:
        harness = None if measuring.command else find_harness(measuring, given.file, job)
    except NoHarnessError as error:
        put(error.text, end="")
        raise
    if not given.against:
        raise OptctxError("nothing to compare: give options with --against '-unroll-count=4'")
    try:
        with status() as tell:
            found = compare_settings(
                job,
                harness,
                given.against,
                base=given.base.context().args(),
                measuring=measuring,
                limits=given.limits,
                progress=tell,
            )
    except Interrupted as interrupt:
        _print(interrupt.partial, given.out.format)
        raise KeyboardInterrupt("interrupted; what was not measured twice is not confirmed") from None
    _print(found, given.out.format)
    return 0 if found.gains and all(row.timing.outcome.state != "wrong result" for row in found.rows) else 1


def _print(found: Compared, form: str) -> None:
    if printed(form, found.as_dict):
        return
    show(Table(found.headings, found.cells(), right=found.headings[1:3]))
    say("", *_summary(found))


def _summary(found: Compared) -> list[str]:
    gains = found.gains
    words = "no gain is confirmed"
    wrong = [
        f"{' '.join(row.options)}: {row.timing.outcome.state}: {row.timing.outcome.error}"
        for row in found.rows
        if row.timing.outcome.state != "ok"
    ]
    if gains and (ratio := gains[0].ratio) is not None:
        words = f"fastest: {' '.join(gains[0].options)}, {ratio.middle:.2f} times as fast as the base"
    waited = "" if found.command else f"; {found.waited:.0%} of the time for other processes"
    return [*wrong, words, f"{found.conditions}{waited}"]
