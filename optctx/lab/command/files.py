"""Files that a command line names. Every error names the file and the reason."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from optctx.errors import OptctxError
from optctx.outputs import hindrance

# Arguments that name files, of any command.
_READ = ("file", "files", "old", "harness", "load")
_WRITTEN = ("keep", "storage", "best", "output")
_MAY_REPLACE = {"best": "load"}


def read_file(path: str, expected: str = "LLVM IR", most: int | None = None) -> bytes:
    """Read a file, which may be a pipe. Raises OptctxError if it cannot be read, or is empty.

    `expected`: what it should contain, for the message. `most`: bytes; one that has more is refused, too.
    """
    with naming("read", path):
        if os.path.isdir(path):
            raise OptctxError(f"cannot read {path}: it is a directory; name a file in it")
        with open(path, "rb") as file:
            data = file.read() if most is None else file.read(most + 1)
    if most is not None and len(data) > most:
        raise OptctxError(f"cannot use {path}: expected {expected} of at most {most:,} bytes, found more")
    if not data.strip():
        raise OptctxError(f"cannot use {path}: expected {expected}, found an empty file")
    return data


def check_writable(path: str) -> None:
    """Raise OptctxError for a file that cannot be written. Changes nothing; call it before long work."""
    if problem := hindrance(path):
        raise OptctxError(f"cannot write {path}: {problem}")


def check_distinct(given: Mapping[str, Any]) -> None:
    """Raise OptctxError for a file that a command would write twice, or replace although it reads it.

    `given`: the arguments by name. The options of `--best` may replace those of `--load`.
    """
    read = [(name, each) for name in _READ for each in _listed(given.get(name))]
    if given.get("harness") == "" and given["file"]:
        from optctx.lab.timing.kernel import harness_beside  # other commands need not import it

        read += [("harness", each) for each in filter(None, [harness_beside(given["file"])])]
    sources = {os.path.realpath(path): name for name, path in read}
    uses: dict[str, str] = {}
    for name in _WRITTEN:
        for path in _listed(given.get(name)):
            flag, place = f"--{name.replace('_', '-')}", os.path.realpath(path)
            is_read = sources.get(place) not in (None, _MAY_REPLACE.get(name))
            if use := "it is read" if is_read else uses.get(place):
                raise OptctxError(f"cannot write {path} for {flag}: {use}; name another file")
            if os.path.isfile(place) or not os.path.exists(place):  # no device
                uses[place] = f"{flag} writes it"


def _listed(paths: str | Sequence[str] | None) -> Sequence[str]:
    return [paths] if isinstance(paths, str) else paths or ()


@contextlib.contextmanager
def naming(verb: str, path: str) -> Iterator[None]:
    """Turn an OSError of the block into an OptctxError that says what was done to which file."""
    try:
        yield
    except OSError as error:
        raise OptctxError(f"cannot {verb} {path}: {_why(error, path)}") from None


def explain(error: OSError) -> str:
    """Word an operating system error that no command expected, without its number."""
    if error.filename is None and isinstance(error, FileNotFoundError):  # of os.getcwd()
        return "the current folder has been removed; change into another one"
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
