"""How to compile as the best trial did, in a line each: the end of a search on a terminal."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping

from optctx.lab.report.commands import Source, reproduction, shown_lines
from optctx.lab.space import overrides_of
from optctx.lab.tuning.results import Study

__all__ = ["ending", "unknown_options"]

_UNKNOWN = re.compile(r"Unknown command line argument '-+([^'=]+)")
_PATIENCE = 20.0  # seconds for clang to read its arguments


def ending(study: Study, source: Source, saved: str | None) -> list[str]:
    """Lines for clang, for opt and llc, for Numba, and on the file of the best set. Empty without a best.

    `saved`: the file that the best set is written to.
    """
    trial = study.winner
    if trial is None:
        return []
    lines = reproduction(trial, source)
    clang, *tools = shown_lines(lines.front, lines.opt, lines.llc, lines.clang)
    unknown = unknown_options(source.clang, overrides_of(trial.options)) if lines.clang else []
    note = f"{source.clang} does not know {', '.join(unknown)}: its LLVM is another one"
    where = (
        f"the best set is in {saved}, for --load" if saved else "--best FILE keeps the best set, for --load"
    )
    return [clang, *([note] if unknown else []), *tools, f"Numba: {lines.numba}", where]


def unknown_options(clang: str, options: Mapping[str, str]) -> list[str]:
    """Those of the options that this clang does not have. Runs it on an empty file; [] if it fails."""
    if not options or shutil.which(clang) is None:
        return []
    words = [word for name, text in options.items() for word in ("-mllvm", f"-{name}={text}")]
    command = [clang, *words, "-x", "c", "-c", "-o", "/dev/null", "/dev/null"]
    try:
        run = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=_PATIENCE)
    except (OSError, subprocess.TimeoutExpired):
        return []
    said = set(_UNKNOWN.findall(run.stderr))
    return [name for name in options if name in said]
