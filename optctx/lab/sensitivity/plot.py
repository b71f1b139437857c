"""Draws the ranked options. Needs matplotlib, which is optional."""

from __future__ import annotations

from typing import TYPE_CHECKING

from optctx.lab.sensitivity.report import Effect, Report
from optctx.plots import check_plot, save_figure
from optctx.values.read_values import value_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["check_plot", "save_plot"]

_SHOWN = 30  # options
_LONGEST = 60  # characters of a label
_BAR = 0.38  # of the height of an option's row


def save_plot(report: Report, path: str, *, title: str = "", top: int | None = None) -> None:
    """Write a bar chart of the options that change the output, the largest effect on top.

    The suffix of `path` chooses the format: png, svg or pdf. `title`: what was compiled. `top`: the number of
    options, by default 30. The same report gives the same file.

    Raises OptctxError as `check_plot` does, and if the file cannot be written.
    """
    shown = report.changing[: top or _SHOWN]
    size = (10, 1.8 + 0.3 * max(len(shown), 1))
    save_figure(path, size, lambda figure: _draw(figure, report, shown, title))


def _draw(figure: Figure, report: Report, shown: list[Effect], title: str) -> None:
    axes = figure.add_subplot()
    heading = "\n".join(line for line in (title, _counts(report, shown)) if line)
    figure.suptitle(heading, parse_math=False)  # a file's name may have dollar signs
    rows = range(len(shown))
    for change, offset, label, colour in _series(report):
        widths = [100 * getattr(effect.best, change) for effect in shown]
        axes.barh([row + offset for row in rows], widths, _BAR, label=label, color=colour)
    axes.set_yticks(list(rows), [_label(effect) for effect in shown])
    axes.set_ylim(max(len(shown), 1) - 0.5, -0.5)  # the largest on top
    _percent_axis(axes)
    axes.set_ylabel("option = value (value of the base)")
    axes.grid(axis="x", alpha=0.3)
    axes.axvline(0, color="black", linewidth=0.8)
    if shown:
        figure.legend(loc="outside lower center", ncols=2)
    else:
        axes.text(0, 0, "no option changes the output", ha="center", va="center")


def _counts(report: Report, shown: list[Effect]) -> str:
    verb = "changes" if len(report.changing) == 1 else "change"
    first = f", the first {len(shown)}" if len(shown) < len(report.changing) else ""
    return f"{len(report.changing)} of {len(report.effects)} options tried {verb} the output{first}"


def _series(report: Report) -> list[tuple[str, float, str, str]]:
    """(field of the trial, offset, label, colour) for each bar of an option."""
    return [
        ("instructions_change", -_BAR / 2, f"IR instructions (base {report.instructions})", "tab:blue"),
        ("size_change", _BAR / 2, f"object size (base {report.object_size} bytes)", "tab:orange"),
    ]


def _percent_axis(axes: Axes) -> None:
    """Linear near 0, logarithmic beyond 10 %: one option may multiply a size that others hardly change."""
    axes.set_xscale("symlog", linthresh=10)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:+g}" if value else "0")
    axes.set_xlabel("change against the base, in % (logarithmic beyond 10 %)")


def _label(effect: Effect) -> str:
    text = f"{effect.option} = {value_text(effect.best.value)} ({value_text(effect.base)})"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
