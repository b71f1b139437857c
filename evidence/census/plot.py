"""Draws a census: options by library and by type. Needs matplotlib, which is optional."""

from __future__ import annotations

import io
import os
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from optctx.errors import OptctxError
from optctx.facts import Facts, OptionFacts
from optctx.outputs import hindrance, write_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ("png", "svg", "pdf")
# No dates and no random names, so the same rows give the same file.
_METADATA: dict[str, dict[str, str | None]] = {
    "png": {"Software": None},
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
}
# A font that comes with matplotlib; text stays text in SVG. Any, as releases type the settings differently.
_STYLE: Any = {"svg.hashsalt": "optctx", "svg.fonttype": "none", "font.family": "DejaVu Sans"}
_MOST = 25  # bars
_STATES: dict[str, tuple[str, Callable[[OptionFacts], bool]]] = {
    "set per thread": ("tab:blue", lambda facts: facts.scope == "thread"),
    "never read": ("tab:gray", lambda facts: facts.scope == "unread"),
    "refused": ("tab:red", lambda facts: facts.scope == "process"),
}


def check_plot(path: str) -> str:
    """Return the format that a file's suffix chooses. Changes nothing.

    Raises OptctxError for another format, for a file that cannot be written, and without matplotlib.
    """
    form = os.path.splitext(path)[1].lstrip(".").lower()
    if form not in FORMATS:
        raise OptctxError(f"cannot plot to {path!r}: expected a name that ends with .{', .'.join(FORMATS)}")
    if problem := hindrance(path):
        raise OptctxError(f"cannot plot to {path!r}: {problem}")
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise OptctxError("cannot plot without matplotlib: pip install matplotlib") from None
    return form


def save_census_plot(census: Facts, path: str) -> None:
    """Write bar charts of the options by library and by type, divided by scope.

    The suffix of `path` chooses the format: png, svg or pdf. The same census gives the same file. Raises
    OptctxError as `check_plot` does, and if the file cannot be written.
    """
    form = check_plot(path)
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(_STYLE):  # a Figure of its own: pyplot would keep state, and look for a window system
        figure = Figure(figsize=(13, 8), layout="constrained")
        _draw(figure, census)
        drawn = io.BytesIO()
        figure.savefig(drawn, format=form, dpi=120, metadata=_METADATA[form])
    write_whole(path, drawn.getvalue())


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
