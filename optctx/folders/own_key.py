"""A key of this user, in a file that only this user can read."""

from __future__ import annotations

import contextlib
import os
import stat

from optctx.folders.files import (
    FOLDER_FLAGS,
    READ_FLAGS,
    WRITE_FLAGS,
    UnusableError,
    check_file,
    read_all,
    untrusted,
    write_all,
)

__all__ = ["own_key"]

_SIZE = 32  # bytes


def own_key(folder: str, name: str) -> bytes:
    """Return the key in that file of a folder. The first call makes it.

    Raises OSError and UnusableError. Nothing repairs a file that other users could have read or written.
    """
    opened = os.open(folder, FOLDER_FLAGS)
    try:
        if why := untrusted(os.fstat(opened)):
            raise UnusableError(why)
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
        check_file(status, _SIZE, trusted=True)
        if status.st_uid != os.geteuid() or status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise UnusableError(f"other users can read the key {name}")
        key = read_all(file, _SIZE)
    finally:
        os.close(file)
    if len(key) != _SIZE:
        raise UnusableError(f"the key {name} has {len(key)} bytes")
    return key


def _make(folder: int, name: str) -> None:
    """Make a key. If two processes do, the first wins. The file is complete before it gets its name."""
    temporary = f"{name}.{os.urandom(8).hex()}.new"
    file = os.open(temporary, WRITE_FLAGS, 0o600, dir_fd=folder)
    try:
        try:
            write_all(file, os.urandom(_SIZE))
        finally:
            os.close(file)
        with contextlib.suppress(FileExistsError):
            os.link(temporary, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    finally:
        os.unlink(temporary, dir_fd=folder)
