"""Checks and saves plots. They need matplotlib, which is optional."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from optctx.errors import OptctxError
from optctx.outputs import hindrance, write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["FORMATS", "check_plot", "save_figure"]

FORMATS = ("png", "svg", "pdf")
# No dates and no random names, so the same rows give the same file.
_METADATA: dict[str, dict[str, str | None]] = {
    "png": {"Software": None},
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
}
# A font that comes with matplotlib; text stays text in SVG. Any, as releases type the settings differently.
_STYLE: Any = {"svg.hashsalt": "optctx", "svg.fonttype": "none", "font.family": "DejaVu Sans"}


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


def save_figure(path: str, size: tuple[float, float], draw: Callable[[Figure], None]) -> None:
    """Write what `draw` draws on a figure of `size` inches. The same drawing gives the same file.

    The file is replaced as a whole. Raises OptctxError as `check_plot` does, and if it cannot be written.
    """
    form = check_plot(path)
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(_STYLE):  # a Figure of its own: pyplot would keep state, and look for a window system
        figure = Figure(figsize=size, layout="constrained")
        draw(figure)
        drawn = io.BytesIO()
        figure.savefig(drawn, format=form, dpi=120, metadata=_METADATA[form])
    write_whole(path, drawn.getvalue())
