"""Writes a study as a report, in the form that the file's name asks for."""

from __future__ import annotations

import importlib
import os

from optctx.errors import OptctxError, shown
from optctx.lab.tuning.report.commands import Source
from optctx.lab.tuning.results import Study
from optctx.outputs import hindrance, write_whole
from optctx.plots import check_plot

__all__ = ["check_report", "write_report"]


def check_report(path: str | os.PathLike[str]) -> str:
    """The form that a file's name stands for: "html" or "png". Changes nothing; call it before a search.

    Raises OptctxError for another name, for a file that cannot be written, and where plotly, matplotlib or
    Optuna is missing.
    """
    name = os.fspath(path)
    form = os.path.splitext(name)[1].lstrip(".").lower()
    if form not in ("html", "png"):
        raise OptctxError(
            f"cannot write a report to {shown(name)}: expected a name that ends with .html or .png"
        )
    if problem := hindrance(name):
        raise OptctxError(f"cannot write a report to {shown(name)}: {problem}")
    if form == "png":
        check_plot(name)
    else:
        _need("plotly.offline", "plotly")
    _need("optuna", "Optuna")
    return form


def write_report(study: Study, path: str | os.PathLike[str], *, source: Source, title: str = "") -> None:
    """Write the report of a study: one HTML file that needs no network, or a picture, by the name's end.

    `source`: what was compiled, for the commands that compile it again. `title`: the heading, by default with
    the name of the file. Texts of the study, the source and the title are shown as they are, and do nothing.
    The same study gives the same file.

    The file is replaced as a whole. Raises OptctxError as `check_report` does, and for a file that cannot be
    written.
    """
    form = check_report(path)
    heading = title or f"Tuning {source.file}"
    if form == "png":
        from optctx.lab.tuning.report.picture import save_picture

        save_picture(study, os.fspath(path), heading)
    else:
        from optctx.lab.tuning.report.page import as_page

        write_whole(path, as_page(study, source, heading))


def _need(module: str, name: str) -> None:
    try:
        importlib.import_module(module)
    except ImportError:
        raise OptctxError(f"cannot write a report without {name}: pip install 'optctx[tune]'") from None
