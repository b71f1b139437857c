"""The patch series: what it touches, and how it comes into a source tree."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from .shell import UpstreamError, run

FOLDER = Path(__file__).parent / "patches"
_CHANGED = re.compile(r"^\+\+\+ b/(.*)$", re.MULTILINE)


class Patch(NamedTuple):
    """One file of the series. `files`: what it changes, from the top of LLVM's repository."""

    path: Path
    files: tuple[str, ...]


def series(folder: Path = FOLDER) -> list[Patch]:
    """The patches in their order. Raises UpstreamError if none is there."""
    paths = sorted(folder.glob("*.patch"))
    if not paths:
        raise UpstreamError(f"no patches in {folder}: is the checkout complete?")
    return [Patch(path, tuple(_CHANGED.findall(path.read_text()))) for path in paths]


def apply(patches: Sequence[Patch], source: Path) -> None:
    """Brings the files that patches touch into the patched state, whatever an earlier series made of them.

    The unpatched files are kept in `.stock`. Files whose text stays the same keep their time, so that nothing
    is built again for them. Raises UpstreamError, with the source unchanged, if a patch does not apply.
    """
    stock = source / ".stock"
    touched = sorted({file for patch in patches for file in patch.files})
    for file in touched:
        _keep(source / file, stock / file)
    everything = {str(path.relative_to(stock)) for path in stock.rglob("*") if path.is_file()}
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        for file in everything:
            (work / file).parent.mkdir(parents=True, exist_ok=True)
            if not _is_new(stock / file):
                shutil.copy(stock / file, work / file)
        for patch in patches:
            run(["patch", "-p1", "--fuzz=0", "--no-backup-if-mismatch", "-i", patch.path], folder=work)
        for file in sorted(everything):
            _bring(work / file, source / file)


_NEW = ".is-new"


def _is_new(kept: Path) -> bool:
    return kept.name.endswith(_NEW) or kept.with_name(kept.name + _NEW).exists()


def _keep(file: Path, kept: Path) -> None:
    """Keeps the unpatched file, or that there was none, once."""
    if kept.exists():
        return
    kept.parent.mkdir(parents=True, exist_ok=True)
    if file.exists():
        shutil.copy2(file, kept)
    else:
        kept.touch()
        kept.with_name(kept.name + _NEW).touch()


def _bring(made: Path, file: Path) -> None:
    if file.name.endswith(_NEW):
        return
    if not made.exists():
        file.unlink(missing_ok=True)
    elif not file.exists() or file.read_bytes() != made.read_bytes():
        file.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(made, file)
