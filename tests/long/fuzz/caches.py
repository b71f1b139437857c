"""Compile caches in folders with planted and damaged files: what comes out is still the right code."""

from __future__ import annotations

import atexit
import os
import pickle
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

_KEY = b"0123456789abcdef"
_TRIPLE = "x86_64-unknown-linux-gnu"
_MEMORY = 1 << 30
# What a cache, and the damage, may do; programs, sockets and executable memory stay forbidden.
_FILES = (
    "open", "openat", "rename", "renameat", "renameat2", "mkdir", "mkdirat", "rmdir", "link", "linkat",
    "unlink", "unlinkat", "symlink", "symlinkat", "mknod", "mknodat", "truncate", "chmod", "fchmodat",
    "utimensat",
)  # fmt: skip
_KINDS = (
    "write", "write", "cut", "cut", "append", "flip", "flip", "flip", "swap", "swap", "copy", "remove",
    "empty", "link outside", "link itself", "link device", "link folder", "hard link", "folder", "fifo",
    "sparse", "mode", "stranger", "pickle", "folder mode",
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
    keyed: bool


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
        self._files: dict[bool, dict[str, bytes]] = {}
        for keyed in (False, True):
            folder = self._root / f"filled-{keyed}"
            self._code = self._compile(folder, keyed)
            self._files[keyed] = {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
        for kind in _KINDS:
            self.perform(CacheCase((Damage(kind),), False))

    def make(self, random: Random) -> CacheCase:
        damage = (
            Damage(random.choice(_KINDS), random.randrange(8), random.choice((random.randrange(64), 1 << 20)))
            for _ in range(random.choice((1, 1, 2, 3, 6)))
        )
        return CacheCase(tuple(damage), random.random() < 0.5)

    def perform(self, case: CacheCase) -> str:
        place = self._root / f"{os.getpid()}-{next(self._numbers)}"
        outside, folder = place / "outside", place / "cache"
        outside.mkdir(parents=True)
        (outside / "precious").write_bytes(b"precious")
        folder.mkdir(mode=0o700)
        for name, content in self._files[case.keyed].items():
            (folder / name).write_bytes(content)
            (folder / name).chmod(0o600)
        for damage in case.damage:
            _harm(damage, folder, outside)
        before = _contents(outside)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            try:
                wrong = [code for _ in range(2) if (code := self._compile(folder, case.keyed)) != self._code]
            except OptctxError:
                return "refused"
        if wrong:
            return "compiles to something else"
        if _contents(outside) != before:
            return "changes files outside"
        if any(each.category is not CacheWarning for each in said):
            return f"warns {[str(each.message) for each in said]}"
        folder.chmod(0o700)
        shutil.rmtree(place, ignore_errors=True)
        return "warned" if said else "compiled"

    def stock(self, case: CacheCase) -> CacheCase:
        return replace(case, damage=())

    def _compile(self, folder: Path, keyed: bool) -> bytes:
        """What a cache in the folder gives; empties the folder if that came from there at last."""
        with CompileCache(folder, key=_KEY if keyed else None) as cache, OptionContext({"unroll-count": 4}):
            code = cache.compile(self._source, "function(loop-unroll)", triple=_TRIPLE, emit="assembly").code
            if cache.hits and folder.parent != self._root:
                cache.clear()
        return code


def _contents(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {path.name: (path.read_bytes(), path.stat().st_mode) for path in sorted(folder.iterdir())}


def _beginning(file: Path) -> bytes:
    """All of what a cache has written, and not all of a sparse file."""
    with file.open("rb") as opened:
        return opened.read(1 << 20)


def _harm(damage: Damage, folder: Path, outside: Path) -> None:
    files = sorted(folder.iterdir())
    if not files:
        return
    file, other = files[damage.file % len(files)], files[(damage.file + 1) % len(files)]
    random = Random(damage.number)
    if damage.kind == "folder mode":
        folder.chmod(random.choice((0o777, 0o770, 0o500, 0o300, 0o1777, 0)))
        return
    if damage.kind == "stranger":
        names = ("cache.db", "cache.db-shm", "tmp", ".x", "a" * 200, "0" * 64, "\udcff")
        path = folder / random.choice(names)
        # Writing to a pipe would wait for a reader; writing through a link that was made here is no damage.
        if not os.path.lexists(path) or (path.is_file() and not path.is_symlink()):
            path.write_bytes(random.randbytes(damage.number))
        return
    plain = file.is_file() and not file.is_symlink()
    content = _beginning(file) if plain else b"x"
    if damage.kind == "swap" and plain and other.is_file() and not other.is_symlink():
        there = _beginning(other)
        other.write_bytes(content)
        file.write_bytes(there)
        return
    if file.is_dir() and not file.is_symlink():
        shutil.rmtree(file)
    else:
        file.unlink()
    at = damage.number % max(1, len(content))
    flipped = content[:at] + bytes((random.randrange(256),)) + content[at + 1 :]
    written = {
        "write": random.randbytes(damage.number),
        "cut": content[:at],
        "append": content + random.randbytes(damage.number),
        "flip": flipped,
        "empty": b"",
        "pickle": pickle.dumps(Path(".")),
    }
    linked: dict[str, str | Path] = {
        "link outside": outside / "precious",
        "link itself": file.name,
        "link device": random.choice(("/dev/zero", "/dev/stdin", "/dev/tty", "/proc/self/mem")),
        "link folder": outside,
    }
    if damage.kind in linked:
        file.symlink_to(linked[damage.kind])
    elif damage.kind == "hard link":
        os.link(outside / "precious", file)
    elif damage.kind == "folder":
        file.mkdir()
    elif damage.kind == "fifo":
        os.mkfifo(file)
    elif damage.kind != "remove":
        file.write_bytes(written.get(damage.kind, content))
    copied = file.with_name(f"{damage.number:064x}")
    if damage.kind == "copy" and not os.path.lexists(copied):  # not a folder or a pipe of other damage
        copied.write_bytes(content)
    elif damage.kind == "sparse":
        os.truncate(file, random.choice((1 << 26, (1 << 26) + 33, 1 << 40)))
    elif damage.kind == "mode":
        file.chmod(random.choice((0o666, 0o000, 0o4755, 0o200)))
