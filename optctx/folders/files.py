"""Files of a folder that other users may be able to change: opened, checked, read, written, sealed by name.

A seal is in the name of an entry, with a tag that tells whether the entry is what was stored. Of each kind of
problem the first one is a warning. A key of this user is in a file that only this user can read.
"""

from __future__ import annotations

import contextlib
import enum
import os
import stat
import warnings
from _operator import _compare_digest

from optctx.errors import CacheWarning, OptctxError, level_outside

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
# Follows no symbolic link; waits neither for a FIFO's writer nor for the holder of a lease.
READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
WRITE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class UnusableError(Exception):
    """Why a folder or a file in it is not used."""


def untrusted(status: os.stat_result) -> str:
    """Tell which other users can change a file or folder, for a message; "" if only this user and root can.

    If an ACL lets another user write, the permission bits of the group show it.
    """
    if status.st_uid not in (os.geteuid(), 0):
        return f"user {status.st_uid} owns it (this is user {os.geteuid()})"
    if status.st_mode & _OTHERS_WRITE:
        return f"other users can write to it (mode {stat.S_IMODE(status.st_mode):04o})"
    return ""


def make_folder(path: str) -> None:
    """Make a folder and its missing parents for this user alone.

    A user who can write to a parent can replace the folder.
    """
    missing = [path]
    while not os.path.isdir(parent := os.path.dirname(missing[-1])):
        missing.append(parent)
    for each in reversed(missing):
        try:
            os.mkdir(each, 0o700)
        except FileExistsError:
            if not os.path.isdir(each):  # else another process was faster
                raise
            continue
        if os.stat(each).st_mode & stat.S_IRWXU != stat.S_IRWXU:  # the umask took something away
            os.chmod(each, 0o700)


def make_own_folder(path: str) -> None:
    """Make a folder of this user if it is missing, but not in a folder of another user (sudo keeps HOME).

    Raises UnusableError and OSError.
    """
    if not os.path.isabs(path):
        raise UnusableError(f"this user has no home ({path})")
    parent = path
    while not os.path.isdir(parent):
        parent = os.path.dirname(parent)
    if parent == path:
        return
    if os.stat(parent).st_uid != os.geteuid():
        raise UnusableError(f"{parent} belongs to another user")
    make_folder(path)


def read_all(file: int, size: int) -> bytes:
    """Read that many bytes, or fewer if the file has become shorter."""
    with open(file, "rb", closefd=False) as opened:
        return opened.read(size)


class Problem(enum.Enum):
    """Kinds of problem, each with a remedy of its own."""

    FOLDER = enum.auto()  # it cannot be opened, or is refused
    ENTRY = enum.auto()  # damaged, planted or unreadable
    WRITING = enum.auto()
    CLEARING = enum.auto()


class Problems:
    """What went wrong with one cache. Safe on any number of threads."""

    def __init__(self) -> None:
        self._reported: dict[Problem, object] = {}

    def report(self, kind: Problem, text: str) -> None:
        """Warn the caller of optctx, unless this cache has reported a problem of that kind before."""
        mine = object()
        if self._reported.setdefault(kind, mine) is mine:
            warnings.warn(text, CacheWarning, stacklevel=level_outside())


try:
    from _blake2 import blake2b  # hashlib loads OpenSSL, which takes longer than everything else about a tag
except ImportError:  # a Python without hashes of its own
    from hashlib import blake2b


_SHORTEST_KEY = 16  # bytes
TAG_SIZE = 32  # bytes
_LONGEST_KEY = 64  # bytes that BLAKE2b takes
_DOMAIN = b"optctx compile cache, format 3\0"  # sets these tags apart from any other use of the same key


def check_key(key: object) -> bytes | None:
    """Return the key of a cache. Raises TypeError, and OptctxError for a short one; neither shows it."""
    if key is None:
        return None
    if not isinstance(key, bytes):
        raise TypeError(f"expected bytes or None as key of a compile cache, found {type(key).__name__}")
    if len(key) < _SHORTEST_KEY:
        raise OptctxError(
            f"cannot authenticate compiled code with this key: expected {_SHORTEST_KEY} bytes or more, found "
            f"{len(key)}; secrets.token_bytes(32) makes one"
        )
    return key


class Seal:
    """BLAKE2b of 32 bytes: without a key it finds damage, with one of 16 bytes or more it finds forgery."""

    def __init__(self, key: bytes | None) -> None:
        if key is not None and len(key) > _LONGEST_KEY:
            key = blake2b(key).digest()
        # The state after the domain, never the key itself: nothing can show it.
        self._copy = blake2b(_DOMAIN, digest_size=TAG_SIZE, key=key or b"").copy

    def name(self, key: str) -> str:
        """Return the file name of an entry. Caches with different keys have different files in one folder."""
        return self._digest(b"name\0", key.encode()).hex()

    def tag(self, name: str, value: bytes | memoryview) -> bytes:
        """Return the tag of a value. It covers the name, so an entry that was moved does not match."""
        return self._digest(b"value\0", name.encode(), value)

    def matches(self, name: str, value: bytes | memoryview, tag: bytes | memoryview) -> bool:
        return _compare_digest(self.tag(name, value), tag)

    def _digest(self, *parts: bytes | memoryview) -> bytes:
        state = self._copy()
        for part in parts:  # all but the last have a fixed length
            state.update(part)
        return state.digest()


_SIZE = 32  # bytes


def own_key(folder: str, name: str) -> bytes:
    """Return the key in that file of a folder. The first call makes it.

    Raises OSError and UnusableError. Nothing repairs a file that other users could have read or written.
    """
    opened = os.open(folder, FOLDER_FLAGS)
    try:
        if why := untrusted(os.fstat(opened)):
            raise UnusableError(f"the key's folder {folder} is not used: {why}")
        try:
            return _read(opened, name)
        except FileNotFoundError:
            _make(opened, name)
            return _read(opened, name)
    finally:
        os.close(opened)


def _read(folder: int, name: str) -> bytes:
    file = os.open(name, READ_FLAGS, dir_fd=folder)
    try:
        status = os.fstat(file)
        if not stat.S_ISREG(status.st_mode):
            raise UnusableError(f"the key {name} is not a regular file")
        if status.st_uid != os.geteuid() or status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise UnusableError(f"other users can read the key {name}")
        key = read_all(file, _SIZE)
    finally:
        os.close(file)
    if (status.st_size, len(key)) != (_SIZE, _SIZE):
        raise UnusableError(f"the key {name} has {status.st_size} bytes")
    return key


def _make(folder: int, name: str) -> None:
    """Make a key. If two processes do, the first wins. The file is complete before it gets its name."""
    temporary = f"{name}.{os.urandom(8).hex()}.new"
    file = os.open(temporary, WRITE_FLAGS, 0o600, dir_fd=folder)
    try:
        with open(file, "wb") as opened:
            opened.write(os.urandom(_SIZE))
        with contextlib.suppress(FileExistsError):
            os.link(temporary, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    finally:
        os.unlink(temporary, dir_fd=folder)
