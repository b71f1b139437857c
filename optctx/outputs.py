"""Files that results and entries go to: judged before the work, and replaced as a whole."""

from __future__ import annotations

import contextlib
import errno
import os
import stat

from optctx.errors import OptctxError, reason, shown

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
            replace_file(os.path.realpath(name), content.encode(), lasting=True)
    except (OSError, ValueError) as error:
        raise OptctxError(f"cannot write {shown(name)}: {reason(error)}") from None


def replace_file(path: str, *parts: bytes, lasting: bool = False) -> None:
    """Write a whole file, then put it in place of the one before, if any.

    `lasting`: it outlives a loss of power, and has the permissions of the one before.
    """
    temporary = f"{path}.{os.urandom(8).hex()}.new"
    try:
        with open(temporary, "xb") as file:
            file.writelines(parts)
            if lasting:
                file.flush()
                os.fsync(file.fileno())
        if lasting:
            with contextlib.suppress(FileNotFoundError):
                os.chmod(temporary, stat.S_IMODE(os.stat(path).st_mode))
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
