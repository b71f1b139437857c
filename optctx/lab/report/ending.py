"""How to compile as the best trial did, in a line each: the end of a search on a terminal."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence

from optctx.lab.report.commands import Source, arguments_of, reproduction, shown_lines
from optctx.lab.tuning.results import Study
from optctx.process import option_name

_UNKNOWN = re.compile(r"Unknown command line argument '-+([^'=]+)")
_PATIENCE = 20.0  # seconds for clang to read its arguments


def ending(study: Study, source: Source, saved: str | None, *, ask: bool) -> list[str]:
    """Lines for clang, for opt and llc, for Numba, and on the file of the best set. Empty without a best.

    `saved`: the file that the best set is written to. `ask`: whether clang is asked which options it knows,
    which runs the program that the source names: a file may be a stranger's.
    """
    trial = study.winner
    if trial is None:
        return []
    lines = reproduction(trial, source)
    clang, *tools = shown_lines(lines.front, lines.opt, lines.llc, lines.clang)
    unknown = unknown_options(source.clang, arguments_of(trial, source)) if ask and lines.clang else []
    note = f"{source.clang} does not know {', '.join(unknown)}: its LLVM is another one"
    where = (
        f"the best set is in {saved}, for --load" if saved else "--best FILE keeps the best set, for --load"
    )
    return [clang, *([note] if unknown else []), *tools, f"Numba: {lines.numba}", where]


def unknown_options(clang: str, given: Sequence[str]) -> list[str]:
    """The names that this clang does not have, of options as opt takes them. Runs it on an empty file; [] if
    it fails.
    """
    if not given or shutil.which(clang) is None:
        return []
    words = [word for each in given for word in ("-mllvm", each)]
    command = [clang, *words, "-x", "c", "-c", "-o", "/dev/null", "/dev/null"]
    try:
        run = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=_PATIENCE)
    except (OSError, subprocess.TimeoutExpired):
        return []
    said = set(_UNKNOWN.findall(run.stderr))
    return [name for each in given if (name := option_name(each)) in said]
