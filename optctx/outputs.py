"""Files that results go to: judged before the work, and replaced as a whole."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat

from optctx.errors import EndedEarlyError, OptctxError, shown

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_OPEN_FILES = ("/dev/", "/proc/")  # /dev/stdout is what a shell has opened, whatever that is


OUT_OF = frozenset(
    {
        errno.ENOSPC,
        errno.EDQUOT,
        errno.EFBIG,
        errno.EIO,
        errno.ENOMEM,
        errno.EMFILE,
        errno.ENFILE,
        errno.EAGAIN,
    }
)
"""Errors of the system that say that there is no more of something, or that a disk fails."""


def hindrance(path: str) -> str:
    """Why a file cannot be written, as far as that can be known without writing it; else ""."""
    folder = os.path.dirname(path) or "."
    if os.path.isdir(path):
        return "it is a directory; name a file in it"
    if not os.path.isdir(folder):
        return f"there is no directory {folder!r}; make it first"
    if not os.access(path if os.path.exists(path) else folder, os.W_OK):
        read_only = os.statvfs(folder).f_flag & os.ST_RDONLY
        return _worded(os.strerror(errno.EROFS if read_only else errno.EACCES))
    return ""


def write_whole(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write a file, or replace it as a whole: after any interruption it has its old content or the new one.

    A link stays, and its target is replaced. The permissions of an existing file stay. A device, a pipe, and
    a file in a folder that this user may not change are written in place.

    Raises OptctxError, with the file's name, if it cannot be written: EndedEarlyError if the disk is full.
    """
    name = os.fsdecode(path)
    kind: type[OptctxError] = OptctxError
    try:
        problem = hindrance(name)
        if not problem:
            _write(name, content.encode() if isinstance(content, str) else content)
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno in OUT_OF:
            kind = EndedEarlyError
        problem = _worded((error.strerror if isinstance(error, OSError) else None) or str(error))
    if problem:
        raise kind(f"cannot write {shown(name)}: {problem}")


def _mode(path: str) -> int | None:
    """The type and permissions of a file; None if there is none."""
    try:
        return os.stat(path).st_mode
    except FileNotFoundError:
        return None


def _write(name: str, data: bytes) -> None:
    mode, target = _mode(name), os.path.realpath(name)
    replaceable = mode is None or (stat.S_ISREG(mode) and os.access(os.path.dirname(target), os.W_OK))
    if replaceable and not name.startswith(_OPEN_FILES):
        _replace(target, data, mode)
        return
    with open(name, "wb") as file:
        file.write(data)


def _replace(path: str, data: bytes, mode: int | None) -> None:
    temporary = f"{path}.{secrets.token_hex(8)}.new"
    try:
        with open(os.open(temporary, _NEW, 0o666), "wb") as file:
            if mode is not None:
                os.fchmod(file.fileno(), stat.S_IMODE(mode))
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _worded(reason: str) -> str:
    """What the system says, as a part of a sentence."""
    return reason[:1].lower() + reason[1:]
