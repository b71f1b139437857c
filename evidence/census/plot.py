"""Draws a census: options by library and by type. Needs matplotlib, which is optional."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

from evidence.plots import save_figure
from optctx.facts import Facts, OptionFacts

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["save_census_plot"]

_MOST = 25  # bars
_STATES: dict[str, tuple[str, Callable[[OptionFacts], bool]]] = {
    "set per thread": ("tab:blue", lambda facts: facts.scope == "thread"),
    "never read": ("tab:gray", lambda facts: facts.scope == "unread"),
    "refused": ("tab:red", lambda facts: facts.scope == "process"),
}


def save_census_plot(census: Facts, path: str) -> None:
    """Write bar charts of the options by library and by type, divided by scope.

    The suffix of `path` chooses the format: png, svg or pdf. The same census gives the same file. Raises
    OptctxError as `check_plot` does, and if the file cannot be written.
    """
    save_figure(path, (13, 8), lambda figure: _draw(figure, census))


def _draw(figure: Figure, census: Facts) -> None:
    options = [facts for facts in census.options if not facts.alias_of]
    figure.suptitle(f"{len(options):,} options: {census.title}", parse_math=False)
    left, right = figure.subplots(1, 2)
    _bars(left, options, "library of LLVM", lambda facts: facts.library)
    _bars(right, options, "type", lambda facts: facts.type)
    right.legend(loc="lower right")


def _bars(axes: Axes, options: list[OptionFacts], what: str, of: Callable[[OptionFacts], str]) -> None:
    counts = Counter(map(of, options))
    shown = sorted(counts, key=lambda name: (-counts[name], name))[:_MOST]
    rows = range(len(shown))
    begins = [0] * len(shown)
    for label, (colour, holds) in _STATES.items():
        own = Counter(of(facts) for facts in options if holds(facts))
        widths = [own[name] for name in shown]
        axes.barh(rows, widths, left=begins, label=label, color=colour)
        begins = [begin + width for begin, width in zip(begins, widths, strict=True)]
    axes.set_yticks(list(rows), shown)
    axes.set_ylim(max(len(shown), 1) - 0.5, -0.5)
    axes.set_xlabel("options")
    more = f", the first {len(shown)} of {len(counts)}" if len(counts) > len(shown) else ""
    axes.set_title(f"by {what}{more}")
    axes.grid(axis="x", alpha=0.3)
