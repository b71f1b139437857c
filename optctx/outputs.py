"""Files that results go to: judged before the work, and replaced as a whole."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil

from optctx.errors import OptctxError, shown

_OPEN_FILES = ("/dev/", "/proc/")  # /dev/stdout is what a shell has opened, whatever that is


def hindrance(path: str) -> str:
    """Why a file cannot be written, as far as that can be known without writing it; else ""."""
    folder = os.path.dirname(path) or "."
    if os.path.isdir(path):
        return os.strerror(errno.EISDIR)
    if not os.path.isdir(folder):
        return os.strerror(errno.ENOENT)
    writable = os.access(path if os.path.exists(path) else folder, os.W_OK)
    return "" if writable else os.strerror(errno.EACCES)


def write_whole(path: str | os.PathLike[str], content: str) -> None:
    """Write a file, or replace it as a whole: after any interruption it has its old content or the new one.

    A link stays, and its target is replaced. The permissions of an existing file stay. A device and a pipe
    are written in place. Raises OptctxError, with the file's name, if it cannot be written.
    """
    name = os.fsdecode(path)
    try:
        if name.startswith(_OPEN_FILES) or (os.path.exists(name) and not os.path.isfile(name)):
            with open(name, "w", encoding="utf-8") as file:
                file.write(content)
        else:
            _replace(os.path.realpath(name), content)
    except (OSError, ValueError) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or error
        raise OptctxError(f"cannot write {shown(name)}: {why}") from None


def _replace(path: str, content: str) -> None:
    temporary = f"{path}.{secrets.token_hex(8)}.new"
    try:
        with open(temporary, "x", encoding="utf-8") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileNotFoundError):
            shutil.copymode(path, temporary)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
