"""Which steps are done: a step is skipped while all that it depends on is what it was."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from pathlib import Path

__all__ = ["Stamp", "digest", "step"]


def digest(*parts: str | bytes | Path | Iterable[str]) -> str:
    """A digest of texts, of files' contents, and of lists of texts."""
    whole = hashlib.sha256()
    for part in parts:
        if isinstance(part, Path):
            piece = hashlib.sha256(part.read_bytes()).digest()
        elif isinstance(part, bytes):
            piece = part
        else:
            piece = json.dumps(part if isinstance(part, str) else list(part)).encode()
        whole.update(hashlib.sha256(piece).digest())
    return whole.hexdigest()


class Stamp:
    """A file that says what a step was last done for."""

    def __init__(self, folder: Path, step: str) -> None:
        self._path = folder / f"{step}.stamp"

    def holds(self, state: str) -> bool:
        return self._path.exists() and self._path.read_text() == state

    def clear(self) -> None:
        self._path.unlink(missing_ok=True)

    def set(self, state: str) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text(state)


def step(folder: Path, name: str, state: str, made: Path, work: Callable[[], object]) -> bool:
    """Do the work, unless `made` is there and was made for this state. Whether it was done now."""
    stamp = Stamp(folder, name)
    if stamp.holds(state) and made.exists():
        return False
    stamp.clear()
    work()
    stamp.set(state)
    return True
