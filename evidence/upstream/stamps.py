"""Which steps are done: a step is skipped while all that it depends on is what it was."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from pathlib import Path


def digest(*parts: str | Path | Iterable[str]) -> str:
    """A digest of texts, of files' contents, and of lists of texts."""
    whole = hashlib.sha256()
    for part in parts:
        if isinstance(part, Path):
            piece = part.read_bytes()
        else:
            piece = json.dumps(part if isinstance(part, str) else list(part)).encode()
        whole.update(hashlib.sha256(piece).digest())
    return whole.hexdigest()


def step(folder: Path, name: str, state: str, made: Path, work: Callable[[], object]) -> bool:
    """Do the work, unless `made` is there and was made for this state. Whether it was done now."""
    stamp = folder / f"{name}.stamp"
    if made.exists() and stamp.exists() and stamp.read_text() == state:
        return False
    stamp.unlink(missing_ok=True)
    work()
    stamp.write_text(state)
    return True
