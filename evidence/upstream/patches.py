"""The patch series: what it touches, whether it is well-formed, and how it comes into a source tree."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .shell import UpstreamError, run

__all__ = ["Patch", "apply", "read_patch", "series"]

FOLDER = Path(__file__).parent / "patches"
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


@dataclass(frozen=True)
class Patch:
    """One file of the series."""

    path: Path
    subject: str
    files: tuple[str, ...]
    """Paths from the top of LLVM's repository."""
    added: int
    removed: int


def series(folder: Path = FOLDER) -> list[Patch]:
    """The patches in their order. Raises UpstreamError if one is malformed or none is there."""
    patches = [read_patch(path) for path in sorted(folder.glob("*.patch"))]
    if not patches:
        raise UpstreamError(f"no patches in {folder}: is the checkout complete?")
    return patches


def read_patch(path: Path) -> Patch:
    """Reads a patch and counts its lines. Raises UpstreamError where a hunk is not as long as it says."""
    lines = path.read_text().splitlines()
    subject = lines[0].removeprefix("Subject: ") if lines and lines[0].startswith("Subject: ") else ""
    if not subject:
        raise UpstreamError(f"{path.name}: the first line must be 'Subject: ...'")
    files: list[str] = []
    added = removed = at = 0
    while at < len(lines):
        if lines[at].startswith("+++ b/"):
            files.append(lines[at].removeprefix("+++ b/"))
        hunk = _HUNK.match(lines[at])
        at += 1
        if hunk:
            count = _hunk(path, lines, at, int(hunk[2] or 1), int(hunk[4] or 1))
            added, removed, at = added + count[0], removed + count[1], count[2]
    if not files or not added + removed:
        raise UpstreamError(f"{path.name}: changes nothing")
    return Patch(path, subject, tuple(files), added, removed)


def _hunk(path: Path, lines: list[str], at: int, old: int, new: int) -> tuple[int, int, int]:
    """Lines added and removed by the hunk whose text begins at `at`, and where the text after it begins."""
    start, added, removed = at, 0, 0
    while old > 0 or new > 0:
        kind = lines[at][:1] if at < len(lines) else "end of file"
        if kind not in (" ", "", "+", "-"):
            raise UpstreamError(f"{path.name}:{start}: the hunk has fewer lines than it says ({kind!r})")
        added, removed = added + (kind == "+"), removed + (kind == "-")
        old, new, at = old - (kind != "+"), new - (kind != "-"), at + 1
    if old or new:
        raise UpstreamError(f"{path.name}:{start}: the hunk has more lines than it says")
    return added, removed, at


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
