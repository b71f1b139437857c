"""The file that keeps a grid or a ranking, trial by trial.

It is a journal of Optuna's (JournalFileBackend, one operation a line), so `optuna-dashboard FILE` shows it
while it grows, with the same numbers. It is written and read here, without Optuna: a file may come from a
stranger (design/trials.md). Of a trial there are three lines: it has begun, with its parameters; its record,
under the name "optctx"; its end. The last two are one write, so a trial is in the file as a whole or not at
all.
"""

from __future__ import annotations

import contextlib
import datetime
import fcntl
import math
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import msgspec

from optctx.children.frames import write_all
from optctx.errors import EndedEarlyError, OptctxError, shown
from optctx.lab.space import Choices, Integers, Space, Value, Values
from optctx.lab.trials.goal import Goal
from optctx.lab.trials.identity import check_identity
from optctx.lab.trials.trial import Trial
from optctx.outputs import check_in_place
from optctx.plain_data import DataError, check_plain

MOST_BYTES = 1 << 30  # of a file
_LONGEST = 4 << 20  # bytes of a line
MOST_TRIALS = 10_000_000
_NAME = "optctx"  # of the study, of who writes, and of what optctx keeps of a trial and of the experiment

# Optuna's numbers.
_STUDY, _STUDY_NOTE, _BEGIN, _END, _TRIAL_NOTE = 0, 2, 4, 6, 8
_RUNNING, _COMPLETE, _FAILED = 0, 1, 3
_DIRECTIONS = {"minimise": 1, "maximise": 2}


class _Line(msgspec.Struct):
    """An operation, without what only Optuna reads."""

    op_code: int
    trial_id: int = -1
    study_id: int = 0
    study_name: str = ""
    user_attr: dict[str, msgspec.Raw] = {}


@dataclass
class Kept:
    """What is in a file. `trials`: those that have ended, by number."""

    identity: Mapping[str, Any] = field(default_factory=dict)
    trials: dict[int, Trial] = field(default_factory=dict)
    begun: int = 0
    """How many trials have begun: the numbers below."""


class Trials:
    """The trials of an experiment that no file keeps."""

    def __init__(self, kept: Kept) -> None:
        self.kept = kept

    def append(self, trial: Trial) -> None:
        """Keep a trial that has ended. Raises OptctxError if the file does not take it, or if it is gone."""
        self.kept.trials[trial.number] = trial

    def check_in_place(self) -> None:
        """Raise OptctxError if the file was deleted or replaced."""


class TrialFile(Trials):
    """An open file of this process alone, made by `open_trials`. A trial is in it when `append` returns.

    A process can be killed at any moment. After a power cut the last trials may be missing: the file is
    forced to the disk when it is closed.
    """

    def __init__(
        self,
        descriptor: int,
        path: str,
        head: bytes,
        goals: Sequence[Goal],
        space: Space,
        point: Callable[[int], Mapping[str, Value]],
        kept: Kept,
    ) -> None:
        self._descriptor = descriptor
        self._path = path
        self._head = head
        self._goals = goals
        self._point = point
        self._values = {each.name: each.values for each in space.dimensions}
        self._distributions = {name: _encoded(values) for name, values in self._values.items()}
        super().__init__(kept)

    def append(self, trial: Trial) -> None:
        begun = max(self.kept.begun, trial.number + 1)
        lines = [self._begin(number) for number in range(self.kept.begun, begun)]
        lines += [
            _line(_TRIAL_NOTE, trial_id=trial.number, user_attr={_NAME: trial}),
            _line(
                _END,
                trial_id=trial.number,
                state=_COMPLETE if trial.state == "ok" else _FAILED,
                values=[trial.objectives[goal.name] for goal in self._goals] if trial.state == "ok" else None,
                datetime_complete=_now(),
            ),
        ]
        self._write(lines)
        self.kept.begun = begun
        super().append(trial)

    def check_in_place(self) -> None:
        check_in_place(self._path, self._descriptor)

    def close(self) -> None:
        """Force the file to the disk. Raises OptctxError if that fails."""
        try:
            os.fsync(self._descriptor)
        except OSError as error:
            raise self._refused(error) from None

    def _begin(self, number: int) -> bytes:
        params: dict[str, float] = {}  # as Optuna has them
        for name, value in self._point(number).items():
            kind = self._values[name]
            params[name] = kind.texts.index(str(value)) if isinstance(kind, Choices) else float(value)
        return _line(
            _BEGIN,
            study_id=0,
            datetime_start=_now(),
            state=_RUNNING,
            distributions={name: self._distributions[name] for name in params},
            params=params,
        )

    def _write(self, lines: Sequence[bytes]) -> None:
        """Append lines as a whole, or none of them. Raises OptctxError for what could not be read again."""
        self.check_in_place()
        before = os.fstat(self._descriptor).st_size
        added = [*(() if before else self._head.splitlines(keepends=True)), *lines]
        data = b"".join(added)
        for what, size, most in (
            ("a line", max(map(len, added)), _LONGEST),
            ("a file", before + len(data), MOST_BYTES),
        ):
            if size > most:
                raise OptctxError(
                    f"cannot write to {shown(self._path)}: {what} has at most {most:,} bytes, found "
                    f"{size:,}; name fewer files or values at once"
                )
        try:
            write_all(self._descriptor, data)
        except BaseException as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, before)
            if isinstance(error, OSError):
                raise self._refused(error) from None
            raise
        self.check_in_place()

    def _refused(self, error: OSError) -> EndedEarlyError:
        count = len(self.kept.trials)
        return EndedEarlyError(
            f"cannot write to {shown(self._path)}: {error.strerror}; it has {count:,} trials, go on with "
            "--resume"
        )


@contextmanager
def open_trials(
    path: str | None,
    identity: Mapping[str, Any],
    goals: Sequence[Goal],
    space: Space,
    point: Callable[[int], Mapping[str, Value]],
    *,
    resume: bool,
) -> Iterator[Trials]:
    """Open the file of an experiment for this process alone. Yields it with the trials that it has.

    Without a path, trials are in memory alone. Nothing is written before the first trial. `goals`: what "ok"
    trials have figures for. `space`: of what is tried. `point`: what the trial of a number tries, as values
    of the space. `resume`: the file may have trials of the same experiment.

    Raises OptctxError for a file that is not empty, unless `resume`; for one of another experiment, or that
    is none; for one that another process writes to; and for one that cannot be used.
    """
    if path is None:
        if resume:
            raise OptctxError("cannot resume without a file; name the one to go on with: --keep FILE")
        yield Trials(Kept())
        return
    attempt = f"cannot keep trials in {shown(path)}"
    descriptor = _opened(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, attempt)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OptctxError(f"{attempt}: another process is writing to it") from None
        except OSError as error:
            raise OptctxError(f"{attempt}: cannot lock it ({error.strerror})") from None
        kept, head = Kept(), _head(identity, goals)
        if os.fstat(descriptor).st_size:
            if not resume:
                raise OptctxError(f"{attempt}: it exists already; go on with --resume, or name another file")
            kept = _resumed(descriptor, path, identity, head)
        file = TrialFile(descriptor, path, head, goals, space, point, kept)
        yield file
        file.check_in_place()
        file.close()
    finally:
        os.close(descriptor)


def _resumed(descriptor: int, path: str, identity: Mapping[str, Any], head: bytes) -> Kept:
    """What is in a file that an experiment goes on with. Drops a last line that was cut."""
    if head.startswith(os.pread(descriptor, len(head), 0)) and os.fstat(descriptor).st_size < len(head):
        os.ftruncate(descriptor, 0)  # killed before the first trial
        return Kept()
    kept, whole = _read(descriptor, f"cannot resume from {shown(path)}", "something else")
    check_identity(identity, kept.identity, shown(path))
    os.ftruncate(descriptor, whole)
    return kept


def read_trials(path: str) -> Kept:
    """What is in a file, which does not change. Raises OptctxError for a file of something else."""
    attempt = f"cannot read {shown(path)}"
    descriptor = _opened(path, os.O_RDONLY, attempt)
    try:
        return _read(descriptor, attempt, "none")[0]
    finally:
        os.close(descriptor)


def _opened(path: str, flags: int, attempt: str) -> int:
    """Open a file. Raises OptctxError for what cannot be opened, is no regular file, or is too large."""
    try:
        descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC, 0o666)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        if isinstance(error, FileNotFoundError) and flags & os.O_CREAT:
            reason = f"there is no directory {shown(os.path.dirname(path))}; make it first"
        raise OptctxError(f"{attempt}: {reason}") from None
    status = os.fstat(descriptor)
    problem = "" if stat.S_ISREG(status.st_mode) else "it is not a regular file"
    if status.st_size > MOST_BYTES:
        problem = problem or f"it has {status.st_size:,} bytes, of at most {MOST_BYTES:,}"
    if problem:
        os.close(descriptor)
        raise OptctxError(f"{attempt}: {problem}")
    return descriptor


def _read(descriptor: int, attempt: str, other: str) -> tuple[Kept, int]:
    """What is in the file, and the bytes up to the end of its last whole line.

    Raises OptctxError for a file that no experiment has written; `other`: what a file without lines is.
    """
    kept, whole = Kept(), 0
    reader = _Reader(kept)
    with os.fdopen(os.dup(descriptor), "rb") as file:
        file.seek(0)
        lines = iter(lambda: file.readline(_LONGEST + 1), b"")
        for number, line in enumerate(lines, 1):
            try:
                if len(line) > _LONGEST:
                    raise DataError(f"expected at most {_LONGEST:,} bytes, found more")
                if not line.endswith(b"\n"):
                    break
                reader.take(line)
            except (msgspec.MsgspecError, ValueError, RecursionError, OverflowError) as error:
                words = "it nests too deeply" if isinstance(error, RecursionError) else str(error)[:200]
                raise OptctxError(
                    f"{attempt}: line {number} is none of an experiment of optctx ({words}); "
                    "name another file"
                ) from None
            whole += len(line)
    if not kept.identity:
        raise OptctxError(f"{attempt}: expected a file of trials, found {other}; name another file")
    return kept, whole


class _Reader:
    """Takes line after line. Raises ValueError and msgspec's errors for what no experiment has written."""

    def __init__(self, kept: Kept) -> None:
        self._kept = kept
        self._records: dict[int, Trial] = {}
        self._line = msgspec.json.Decoder(_Line)
        self._trial = msgspec.json.Decoder(Trial)

    def take(self, line: bytes) -> None:
        found = self._line.decode(line)
        if not self._kept.identity and found.op_code not in (_STUDY, _STUDY_NOTE):
            raise DataError("expected a study of optctx first")
        match found.op_code:
            case 0:
                if found.study_name != _NAME or self._kept.identity:
                    raise DataError(f"expected the study {_NAME!r} alone, found {shown(found.study_name)}")
            case 2:
                self._take_identity(found.user_attr)
            case 4:
                if found.study_id or self._kept.begun == MOST_TRIALS:
                    raise DataError("expected a trial of the study")
                self._kept.begun += 1
            case 8 if _NAME in found.user_attr:
                self._take_trial(found.trial_id, found.user_attr[_NAME])
            case 6:
                if found.trial_id in self._records:
                    self._kept.trials[found.trial_id] = self._records.pop(found.trial_id)
            case 3 | 8 | 9:  # what a dashboard adds
                pass
            case _:
                raise DataError(f"expected an operation of a kept experiment, found {found.op_code}")

    def _take_identity(self, notes: Mapping[str, msgspec.Raw]) -> None:
        if _NAME not in notes:  # what a dashboard adds
            return
        value = msgspec.json.decode(notes[_NAME])
        check_plain(value)
        if not isinstance(value, dict) or not value:
            raise DataError("expected what the experiment is one of")
        self._kept.identity = value

    def _take_trial(self, number: int, raw: msgspec.Raw) -> None:
        trial = self._trial.decode(raw)
        if trial.number != number or not 0 <= number < self._kept.begun:
            raise DataError(f"expected a trial that has begun, found number {str(trial.number)[:20]}")
        check_plain(trial.attributes)
        if not all(map(math.isfinite, (trial.seconds, *trial.objectives.values()))):
            raise DataError("expected finite figures")
        self._records[number] = trial


def _head(identity: Mapping[str, Any], goals: Sequence[Goal]) -> bytes:
    """The first lines: the study, and what it is one of."""
    directions = [_DIRECTIONS[goal.direction] for goal in goals]
    study = _line(_STUDY, study_name=_NAME, directions=directions)
    return study + _line(_STUDY_NOTE, study_id=0, user_attr={_NAME: identity})


def _line(op_code: int, **fields: Any) -> bytes:
    record = {"op_code": op_code, "worker_id": _NAME, **fields}
    try:
        return msgspec.json.encode(record) + b"\n"
    except UnicodeEncodeError:
        return msgspec.json.encode(_encodable(msgspec.to_builtins(record))) + b"\n"


def _encodable(value: Any) -> Any:
    """Data with escapes for bytes of file names that are not UTF-8, which LLVM may have printed."""
    if isinstance(value, str):
        return value.encode(errors="backslashreplace").decode()
    if isinstance(value, dict):
        return {_encodable(name): _encodable(each) for name, each in value.items()}
    return list(map(_encodable, value)) if isinstance(value, list | tuple) else value


def distribution(values: Values) -> tuple[str, dict[str, Any]]:
    """Return what Optuna calls these values, and the arguments that describe them."""
    if isinstance(values, Choices):
        return "Categorical", {"choices": values.texts}
    if isinstance(values, Integers):
        high = values.at(int(values.count) - 1)
        return "Int", {"low": values.low, "high": high, "step": values.step, "log": values.log}
    return "Float", {"low": values.low, "high": values.high, "step": None, "log": values.log}


def _encoded(values: Values) -> str:
    name, attributes = distribution(values)
    return msgspec.json.encode({"name": f"{name}Distribution", "attributes": attributes}).decode()


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="microseconds")
