"""A comparison as text."""

from __future__ import annotations

from evidence.strategies.comparison import Compared, Comparison
from evidence.strategies.properties import PROPERTIES
from optctx.wording import columns, counted

_NOT_AT_ONCE = "-"


def as_lines(comparison: Comparison) -> list[str]:
    """Lines with what holds for which strategy, with each counterexample, and a table of the figures."""
    lines = [line for each in comparison.strategies for line in _properties(each)]
    measured = [each for each in comparison.strategies if each.figures is not None]
    left = [each for each in comparison.strategies if each.left]
    if measured:
        lines += ["", *columns([_heading(measured), *map(_row, measured)]), *_ratios(measured)]
    if not comparison.finished:
        lines += [
            "",
            *(f"{each.strategy}: not known: {', '.join(each.left)}" for each in left),
            comparison.progress,
        ]
    return lines


def _properties(compared: Compared) -> list[str]:
    if compared.unavailable:
        return [f"{compared.strategy}: not tried: {compared.unavailable}"]
    if not compared.verdicts:
        return []
    holding = [name for name, verdict in compared.verdicts.items() if verdict.holds]
    broken = [verdict for verdict in compared.verdicts.values() if not verdict.holds]
    programs = sum(verdict.programs for verdict in compared.verdicts.values())
    held = f"{len(holding)} of {len(compared.verdicts)} hold"
    lines = [f"{compared.strategy}: {held} ({counted(programs, 'program')})"]
    lines += [f"  refuses {options}: {why}" for options, why in compared.refused.items()]
    for verdict in broken:
        lines.append(f"  {verdict.property} does not hold ({PROPERTIES[verdict.property].says}):")
        lines += [f"    {line}" for line in verdict.counterexample]
    return lines


def _heading(measured: list[Compared]) -> list[str]:
    figures = measured[0].figures
    assert figures is not None
    return [
        "strategy",
        "start-up",
        "first",
        "later",
        "per set",
        *(f"different, {count}" for count in figures.different),
        *(f"equal, {count}" for count in figures.equal),
    ]


def _row(compared: Compared) -> list[str]:
    figures = compared.figures
    assert figures is not None
    return [
        compared.strategy,
        f"{figures.start_up:.2f} s",
        f"{figures.first * 1e3:.1f} ms",
        f"{figures.later * 1e3:.1f} ms",
        _NOT_AT_ONCE if figures.memory is None else f"{figures.memory / 1024:,.0f} KiB",
        *(f"{rate:.1f}/s" for rate in figures.different.values()),
        *(f"{rate:.1f}/s" for rate in figures.equal.values()),
    ]


def _ratios(measured: list[Compared]) -> list[str]:
    """How many times the throughput of each other strategy `thread` has, with different sets."""
    rates = {each.strategy: list(each.figures.different.values())[-1] for each in measured if each.figures}
    thread = rates.pop("thread", None)
    if thread is None:
        return []
    return ["", *(f"thread is {thread / rate:.2f} times as fast as {name}" for name, rate in rates.items())]
