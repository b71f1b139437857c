"""Opens, checks, reads and writes files of a folder that other users may be able to change."""

from __future__ import annotations

import os
import stat

__all__ = [
    "FOLDER_FLAGS",
    "READ_FLAGS",
    "WRITE_FLAGS",
    "UnusableError",
    "check_file",
    "make_folder",
    "make_own_folder",
    "read_all",
    "untrusted",
    "write_all",
]

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
# Follows no symbolic link; waits neither for a FIFO's writer nor for the holder of a lease.
READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
WRITE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class UnusableError(Exception):
    """Why a folder or a file in it is not used."""


def check_file(status: os.stat_result, most: int, *, beside: int = 0, trusted: bool) -> None:
    """Raise UnusableError unless it is a regular file of at most `most` bytes, and those `beside` them.

    `trusted`: only this user and root may be able to change it.
    """
    if not stat.S_ISREG(status.st_mode):
        raise UnusableError("it is no regular file")
    if trusted and (why := untrusted(status)):
        raise UnusableError(why)
    if status.st_size > most + beside:
        raise UnusableError(f"it has {status.st_size} bytes; an entry has {most} at most")


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
    data = os.read(file, size)
    if len(data) < size:
        while piece := os.read(file, size - len(data)):
            data += piece
    return data


def write_all(file: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(file, left) :]
