"""Files that a command line names. Every error names the file and the reason."""

from __future__ import annotations

import os

from optctx.errors import OptctxError


def read_file(path: str, expected: str = "LLVM IR", most: int | None = None) -> bytes:
    """Read a file, which may be a pipe; "-" is standard input. Raises OptctxError if it cannot be read, or is
    empty.

    `expected`: what it should contain, for the message. `most`: bytes; one that has more is refused, too.
    """
    if os.path.isdir(path):
        raise OptctxError(f"cannot read {path}: it is a directory; name a file in it")
    try:
        with open(0 if path == "-" else path, "rb", closefd=path != "-") as file:
            data = file.read() if most is None else file.read(most + 1)
    except OSError as error:
        raise OptctxError(f"cannot read {path}: {_why(error, path)}") from None
    if most is not None and len(data) > most:
        raise OptctxError(f"cannot use {path}: expected {expected} of at most {most:,} bytes, found more")
    if not data.strip():
        raise OptctxError(f"cannot use {path}: expected {expected}, found nothing")
    return data


def explain(error: OSError) -> str:
    """Word an operating system error that no command expected, without its number."""
    if error.filename is None:
        return f"the operating system refused a step: {_reason(error)}"
    return f"cannot use {os.fsdecode(error.filename)}: {_reason(error)}"


def _why(error: OSError, path: str) -> str:
    if isinstance(error, FileNotFoundError):
        folder = os.path.dirname(path)
        if folder and not os.path.isdir(folder):
            return f"there is no directory {folder}"
        return "there is no such file"
    return _reason(error)


def _reason(error: OSError) -> str:
    reason = error.strerror or type(error).__name__
    return reason[:1].lower() + reason[1:]
