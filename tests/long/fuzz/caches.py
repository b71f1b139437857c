"""Compile caches in folders with damaged files: what comes out is still the right code."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import warnings
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from random import Random

from optctx import CacheWarning, CompileCache, OptctxError, OptionContext
from tests.long.fuzz.bases import whole
from tests.long.fuzz.confined import Limits
from tests.long.fuzz.hunt import Target

__all__ = ["CacheCase", "CachesTarget", "Damage"]

_TRIPLE = "x86_64-unknown-linux-gnu"
_MEMORY = 1 << 30
# What a cache, and the damage, may do; programs, sockets and executable memory stay forbidden.
_FILES = (
    "open", "openat", "rename", "renameat", "renameat2", "mkdir", "mkdirat", "rmdir", "unlink", "unlinkat",
    "chmod", "fchmodat", "utimensat",
)  # fmt: skip
_KINDS = (
    "write", "write", "cut", "cut", "append", "flip", "flip", "flip", "swap", "swap", "copy", "remove",
    "empty", "folder",
)  # fmt: skip


@dataclass(frozen=True)
class Damage:
    """What happens to a file: the kind, which file of those in the folder, and a number to do it with."""

    kind: str
    file: int = 0
    number: int = 0


@dataclass(frozen=True)
class CacheCase:
    """A folder as a cache left it, and what happened since."""

    damage: tuple[Damage, ...]


class CachesTarget(Target[CacheCase]):
    name = "caches"

    def __init__(self, seconds: float = 20) -> None:
        self.limits = Limits(seconds, _MEMORY, _FILES)
        self._numbers = count()

    def prepare(self) -> None:
        root = tempfile.mkdtemp(prefix="fuzz-")
        atexit.register(shutil.rmtree, root, ignore_errors=True)
        self._root = Path(root)
        self._source = whole("counted.ll").text({})
        folder = self._root / "filled"
        self._code = self._compile(folder)
        self._files = {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
        for kind in _KINDS:
            self.perform(CacheCase((Damage(kind),)))

    def make(self, random: Random) -> CacheCase:
        damage = (
            Damage(random.choice(_KINDS), random.randrange(8), random.choice((random.randrange(64), 1 << 20)))
            for _ in range(random.choice((1, 1, 2, 3, 6)))
        )
        return CacheCase(tuple(damage))

    def perform(self, case: CacheCase) -> str:
        folder = self._root / f"{os.getpid()}-{next(self._numbers)}" / "cache"
        folder.mkdir(parents=True)
        for name, content in self._files.items():
            (folder / name).write_bytes(content)
        for damage in case.damage:
            _harm(damage, folder)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            try:
                wrong = [code for _ in range(2) if (code := self._compile(folder)) != self._code]
            except OptctxError:
                return "refused"
        if wrong:
            return "compiles to something else"
        if any(each.category is not CacheWarning for each in said):
            return f"warns {[str(each.message) for each in said]}"
        shutil.rmtree(folder.parent, ignore_errors=True)
        return "warned" if said else "compiled"

    def stock(self, case: CacheCase) -> CacheCase:
        return replace(case, damage=())

    def _compile(self, folder: Path) -> bytes:
        """What a cache in the folder gives; empties the folder if that came from there at last."""
        with CompileCache(folder) as cache, OptionContext({"unroll-count": 4}):
            code = cache.compile(self._source, "function(loop-unroll)", triple=_TRIPLE, emit="assembly").code
            if cache.hits and folder.parent != self._root:
                cache.clear()
        return code


def _harm(damage: Damage, folder: Path) -> None:
    files = sorted(path for path in folder.iterdir() if path.is_file())
    if not files:
        return
    file, other = files[damage.file % len(files)], files[(damage.file + 1) % len(files)]
    random = Random(damage.number)
    content = file.read_bytes()
    if damage.kind == "swap":
        file.write_bytes(other.read_bytes())
        other.write_bytes(content)
        return
    at = damage.number % max(1, len(content))
    written = {
        "write": random.randbytes(damage.number),
        "cut": content[:at],
        "append": content + random.randbytes(damage.number),
        "flip": content[:at] + bytes((random.randrange(256),)) + content[at + 1 :],
        "empty": b"",
    }
    if damage.kind == "copy":
        file = file.with_name(f"{damage.number:064x}")
    elif damage.kind in ("remove", "folder"):
        file.unlink()
    if damage.kind == "folder":
        file.mkdir()
    elif damage.kind != "remove" and not file.is_dir():
        file.write_bytes(written.get(damage.kind, content))
