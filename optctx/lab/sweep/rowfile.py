"""A file that rows are appended to as they come, and read back from to resume a sweep."""

from __future__ import annotations

import contextlib
import csv
import fcntl
import hashlib
import io
import json
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from importlib.metadata import version
from typing import Literal

from llvmlite import binding

from optctx import OptionContext
from optctx.compiling import Job
from optctx.engine.attach import attach
from optctx.errors import OptctxError, shown
from optctx.lab.sweep.grid import Axis
from optctx.lab.sweep.records import columns, from_cells, from_record, record, to_cells, to_line
from optctx.lab.sweep.row import Row
from optctx.outputs import check_in_place
from optctx.plain_data import DataError, parse_json
from optctx.process import all_arguments, attributes_policy

__all__ = ["FileFormat", "RowFile", "identity", "open_rows"]

FileFormat = Literal["csv", "json"]

_TAG = "sweep"  # the column that identifies the sweep that a row belongs to
_DIGITS = 8  # of each part of the identity
_MOST_BYTES = 1 << 30  # of a file
_PARTS = ("input", "pipeline", "target", "options", "base", "versions", "--verify")


def identity(jobs: Mapping[str, Job], axes: Sequence[Axis], *, verify: bool) -> str:
    """A text that is the same for two sweeps if they have the same rows.

    It depends on the calling thread's option values, and on the versions of optctx, llvmlite and LLVM.
    """
    targets = [(job.triple, job.cpu, job.features, job.opt_level) for job in jobs.values()]
    parts = (
        [(name, hashlib.sha256(_bytes(job.ir)).hexdigest()) for name, job in jobs.items()],
        [job.passes for job in jobs.values()],
        [targets, binding.get_process_triple()],
        [asdict(axis) for axis in axes],
        [all_arguments(OptionContext()), attributes_policy()],
        [version("optctx"), version("llvmlite"), attach().image.build_id],
        verify,
    )
    return "-".join(hashlib.sha256(json.dumps(part).encode()).hexdigest()[:_DIGITS] for part in parts)


class RowFile:
    """An open file. A row is complete in it when `write` returns."""

    def __init__(self, descriptor: int, path: str, form: FileFormat, tag: str) -> None:
        self._descriptor = descriptor
        self._path = path
        self._form = form
        self._tag = tag
        self._empty = True

    def read(self, names: Sequence[str]) -> list[Row]:
        """Read the rows of a sweep over these options. Drops an incomplete last line from the file.

        Raises OptctxError for anything but rows of the same sweep.
        """
        size = os.fstat(self._descriptor).st_size
        if size > _MOST_BYTES:
            raise self._refused(f"it has {size:,} bytes, of at most {_MOST_BYTES:,}")
        with os.fdopen(os.dup(self._descriptor), "rb") as file:
            file.seek(0)
            data = file.read()
        whole = _whole(data, quoted=self._form == "csv")
        try:
            text = data[:whole].decode()
        except UnicodeDecodeError as error:
            raise self._refused(f"expected UTF-8, found {error.reason} at byte {error.start}") from None
        found = list(self._parse_csv(text, names) if self._form == "csv" else self._parse_json(text))
        if whole < len(data):
            os.ftruncate(self._descriptor, whole)
        self._empty = not whole
        return found

    def write(self, row: Row) -> None:
        """Append a row. Raises OSError, and OptctxError if the file was deleted or replaced."""
        if self._form == "json":
            text = json.dumps({**record(row), _TAG: self._tag}) + "\n"
        else:
            text = to_line([*to_cells(row), self._tag])
            if self._empty:
                text = to_line([*columns(list(row.options)), _TAG]) + text
        self._empty = False
        data = memoryview(text.encode())
        while data:
            data = data[os.write(self._descriptor, data) :]
        self.check_in_place()

    def check_in_place(self) -> None:
        """Raise OptctxError if the file was deleted or replaced."""
        check_in_place(self._path, self._descriptor)

    def _parse_csv(self, text: str, names: Sequence[str]) -> Iterator[Row]:
        lines = csv.reader(io.StringIO(text, newline=""))
        try:
            header = next(lines, None)
            if header is None:
                return
            if header[:1] != ["file"] or header[-1:] != [_TAG]:
                raise DataError(f"expected 'file' to {_TAG!r} as columns, found {shown(header)}")
            for cells in lines:
                self._check(cells[-1] if cells else None)
                yield from_cells(names, cells[:-1])
        except (DataError, csv.Error) as error:
            raise self._not_a_row(lines.line_num, error) from None

    def _parse_json(self, text: str) -> Iterator[Row]:
        for number, line in enumerate(text.split("\n")[:-1], 1):
            try:
                fields = parse_json(line)
                self._check(fields.get(_TAG) if isinstance(fields, dict) else None)
                yield from_record(fields)
            except DataError as error:
                raise self._not_a_row(number, error) from None

    def _not_a_row(self, line: int, error: Exception) -> OptctxError:
        return self._refused(f"line {line} is no {_FORMS[self._form]} of an earlier sweep ({error})")

    def _refused(self, why: str) -> OptctxError:
        return OptctxError(f"cannot resume from {shown(self._path)}: {why}; name another file")

    def _check(self, tag: object) -> None:
        """Raise OptctxError for the tag of another sweep, and DataError for none."""
        if tag == self._tag:
            return
        theirs, own = (tag.split("-") if isinstance(tag, str) else []), self._tag.split("-")
        if len(theirs) != len(own):
            raise DataError(f"expected hashes as {_TAG!r}, found {'none' if tag is None else shown(tag)}")
        parts = zip(_PARTS, theirs, own, strict=True)
        changed = [name for name, there, here in parts if there != here]
        raise OptctxError(
            f"cannot resume from {shown(self._path)}: its rows are of a sweep that differs in "
            f"{' and '.join(changed)}; repeat that sweep's arguments, or name another file"
        )


_FORMS = {"csv": "CSV", "json": "JSON"}


@contextmanager
def open_rows(path: str, form: FileFormat, tag: str, *, resume: bool) -> Iterator[RowFile]:
    """Open a file for rows, for this process alone. It does not change until the first row is written.

    Raises OptctxError for a file that is not empty, unless `resume`; for one that another sweep writes to;
    and for one that cannot be opened.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
    except FileNotFoundError:
        folder = shown(os.path.dirname(path))
        raise OptctxError(
            f"cannot write to {shown(path)}: there is no directory {folder}; make it first"
        ) from None
    except OSError as error:
        raise OptctxError(f"cannot write to {shown(path)}: {error.strerror}") from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OptctxError(f"cannot write to {shown(path)}: another sweep is writing to it") from None
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) and resume:
            raise OptctxError(f"cannot resume from {shown(path)}: it is not a regular file")
        if status.st_size and not resume:
            raise OptctxError(
                f"cannot write to {shown(path)}: it exists already; go on with --resume, or name another file"
            )
        yield RowFile(descriptor, path, form, tag)
    finally:
        with contextlib.suppress(OSError):
            os.close(descriptor)


def _whole(data: bytes, *, quoted: bool) -> int:
    """The number of bytes up to the end of the last complete line. In CSV, lines do not end inside quotes."""
    if not quoted:
        return data.rfind(b"\n") + 1
    end = position = quotes = 0
    for line in data.splitlines(keepends=True):
        position += len(line)
        quotes += line.count(b'"')
        if line.endswith(b"\n") and quotes % 2 == 0:
            end = position
    return end


def _bytes(ir: str | bytes) -> bytes:
    return ir if isinstance(ir, bytes) else ir.encode()
