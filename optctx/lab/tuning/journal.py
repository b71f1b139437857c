"""Where trials are kept as they end: Optuna's storage, in an SQLite file or another database.

A file may come from somewhere else. Optuna keeps numbers and JSON in it, and nothing that is read from it
here is unpickled or handed to a sampler before it has been checked against the space (design/tuning.md).
"""

from __future__ import annotations

import contextlib
import fcntl
import math
import os
import sqlite3
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from optctx.errors import OptctxError, shown
from optctx.lab.space import PASSES, Space, Value, text_of
from optctx.lab.trials import STATES, Goal, Trial
from optctx.lab.tuning.identity import Identity
from optctx.lab.tuning.rows import Rows
from optctx.lab.tuning.samplers import distribution_of, quiet
from optctx.lab.tuning.study_file import Steps, check_study_file
from optctx.outputs import check_in_place
from optctx.plain_data import check_plain

if TYPE_CHECKING:
    from optuna.storages import RDBStorage
    from optuna.trial import FrozenTrial

__all__ = ["Journal", "Stored", "open_journal"]

_STUDY = "optctx"  # the study's name in the database
_IDENTITY = "optctx"  # its attribute that says what it is a study of
_TRIAL = "optctx"  # the attribute of a trial
_SQLITE = b"SQLite format 3\0"
_PATIENCE = 10.0  # seconds that another reader of the file is waited for
_STOPPED = "interrupted"  # what SQLite says after `Steps`
_MOST = 10_000_000  # the largest number of a trial


@dataclass(frozen=True)
class Stored:
    """A trial that was read, and what it tries as values of the dimensions."""

    trial: Trial
    values: Mapping[str, Value]


class Journal:
    """An open study. Each trial is in it as a whole as soon as `append` returns.

    `check_in_place` raises OptctxError if its file was deleted or replaced.
    """

    def __init__(
        self,
        storage: RDBStorage,
        study: int,
        where: str,
        space: Space,
        goals: Sequence[Goal],
        pipeline: str,
        steps: Steps,
        check_in_place: Callable[[], None],
    ) -> None:
        """`steps`: what reading the trials may take."""
        self._steps = steps
        self._storage = storage
        self._study = study
        self._rows = Rows(storage, study)
        self._where = where
        self._space = space
        self._goals = goals
        self._pipeline = pipeline
        self.check_in_place = check_in_place
        self._distributions = {each.name: distribution_of(each.values) for each in space.dimensions}
        self._count = 0

    def read(self) -> dict[int, Stored]:
        """The trials that are there, by number. Raises OptctxError for one that is not of this study."""
        with _explaining("read", self._where):
            trials = self._storage.get_all_trials(self._study, deepcopy=False)
        self._steps.end()
        found: dict[int, Stored] = {}
        for frozen in trials:
            try:
                stored = self._stored(frozen)
            except (KeyError, TypeError, ValueError, OverflowError) as error:
                raise OptctxError(
                    f"cannot resume from {self._where}: its trial {frozen.number} is not of this study "
                    f"({error}); name another file"
                ) from None
            if found.setdefault(stored.trial.number, stored) is not stored:
                raise OptctxError(
                    f"cannot resume from {self._where}: it has two trials {stored.trial.number}; name "
                    "another file"
                )
        self._count = len(found)
        return found

    def append(self, trial: Trial, values: Mapping[str, Value]) -> None:
        """Keep a trial. Raises OptctxError if the database does not take it, or if its file is gone."""
        import optuna

        done = trial.state == "ok"
        frozen = optuna.trial.create_trial(
            state=optuna.trial.TrialState.COMPLETE if done else optuna.trial.TrialState.FAIL,
            values=[trial.objectives[goal.name] for goal in self._goals] if done else None,
            params=dict(values),
            distributions={name: self._distributions[name] for name in values},
            user_attrs={
                _TRIAL: {
                    "number": trial.number,
                    "state": trial.state,
                    "seconds": trial.seconds,
                    "error": trial.error,
                    "attributes": dict(trial.attributes),
                }
            },
        )
        self.check_in_place()
        with _explaining("write to", self._where, f"; it has {self._count} trials, go on with --resume"):
            if self._rows.takes(frozen):
                self._rows.add(frozen)
            else:
                self._storage.create_new_trial(self._study, frozen)
        self._count += 1

    def _stored(self, frozen: FrozenTrial) -> Stored:
        """Raises ValueError, KeyError or TypeError for what this study cannot have written."""
        record = frozen.user_attrs[_TRIAL]
        check_plain(record)
        values = dict(frozen.params)
        if not self._space.holds(values):
            raise ValueError("its values are not of the space")
        number, state, seconds = record["number"], record["state"], float(record["seconds"])
        if type(number) is not int or not 0 <= number < _MOST or state not in STATES:
            raise ValueError("number or state")
        if not isinstance(record["attributes"], dict) or not math.isfinite(seconds):
            raise ValueError("attributes")
        figures = list(frozen.values or ()) if state == "ok" else []
        if len(figures) != (len(self._goals) if state == "ok" else 0) or not all(map(math.isfinite, figures)):
            raise ValueError("figures")
        texts = {name: text_of(value) for name, value in values.items()}
        ordered = {name: texts[name] for name in self._space.names if name in texts}
        trial = Trial(
            number=number,
            options={name: text for name, text in ordered.items() if name != PASSES},
            passes=texts.get(PASSES, self._pipeline),
            state=state,
            objectives={goal.name: figure for goal, figure in zip(self._goals, figures, strict=False)},
            seconds=seconds,
            error=str(record["error"]),
            attributes=record["attributes"],
        )
        return Stored(trial, {name: values[name] for name in ordered})


@contextmanager
def open_journal(
    where: str, identity: Identity, space: Space, goals: Sequence[Goal], pipeline: str, *, resume: bool
) -> Iterator[Journal]:
    """A study in an SQLite file, or at a URL such as "postgresql://...", for this process alone.

    Raises OptctxError for a file that is there unless `resume`, for a study of something else, for one that
    another process goes on with, and for a database that cannot be used.
    """
    where = where.removeprefix("sqlite:///")
    shown_as = where.split("@")[-1] if "://" in where else where  # no password
    if where.lower().startswith(("sqlite:", "sqlite+")) and "://" in where:  # a file that would not be judged
        raise OptctxError(f"cannot keep a study in {shown(where)}: give an SQLite file by its path")
    with contextlib.ExitStack() as stack:
        check: Callable[[], None] = lambda: None  # noqa: E731
        if "://" not in where:
            check = partial(check_in_place, where, stack.enter_context(_own_file(where, resume)))
        with _explaining("use", shown_as):
            steps = Steps(0 if "://" in where else os.path.getsize(where))
            storage = stack.enter_context(_opened(where, steps))
        with _explaining("use", shown_as):
            study = _study(storage, identity, goals, shown_as, resume)
            journal = Journal(storage, study, shown_as, space, goals, pipeline, steps, check)
        yield journal


@contextmanager
def _own_file(path: str, resume: bool) -> Iterator[int]:
    """Lock a file against other processes that search; yield its descriptor. It is made if it is missing."""
    name = shown(path)
    if "?" in path:
        raise OptctxError(
            f"cannot keep a study in {name}: SQLite's URLs have no '?' in a path; name another file"
        )
    flags = os.O_RDWR | os.O_CREAT | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags, 0o666)
    except FileNotFoundError:
        folder = shown(os.path.dirname(path))
        raise OptctxError(
            f"cannot keep a study in {name}: there is no directory {folder}; make it first"
        ) from None
    except OSError as error:
        raise OptctxError(f"cannot keep a study in {name}: {error.strerror}") from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OptctxError(f"cannot keep a study in {name}: it is not a regular file")
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OptctxError(f"cannot keep a study in {name}: another search is writing to it") from None
        if os.fstat(descriptor).st_size:
            if not resume:
                raise OptctxError(
                    f"cannot keep a study in {name}: it exists already; go on with --resume, or name "
                    "another file"
                )
            if os.pread(descriptor, len(_SQLITE), 0) != _SQLITE:
                raise OptctxError(
                    f"cannot resume from {name}: expected a study in SQLite, found something else; name "
                    "another file"
                )
            with _explaining("use", path):
                check_study_file(path, path)
        yield descriptor
    finally:
        os.close(descriptor)  # after the database is closed: SQLite's own locks end with any descriptor


@contextmanager
def _opened(where: str, steps: Steps) -> Iterator[RDBStorage]:
    with contextlib.ExitStack() as connections:  # of which an error in Optuna can leave some open
        storage = _open(where, steps, connections)
        try:
            yield storage
        finally:
            storage.remove_session()
            storage.engine.dispose()


def _open(where: str, steps: Steps, connections: contextlib.ExitStack) -> RDBStorage:
    from optuna.storages import RDBStorage

    with quiet():
        if "://" in where:
            return RDBStorage(_literal(where))
        path = os.path.abspath(where)

        def connect() -> sqlite3.Connection:
            connection = connections.enter_context(contextlib.closing(_connect(path)))
            steps.watch(connection)
            return connection

        return RDBStorage(_literal(f"sqlite:///{path}"), engine_kwargs={"creator": connect})


def _literal(url: str) -> str:
    """Optuna fills in what stands in braces."""
    return url.replace("{", "{{").replace("}", "}}")


class _Connection(sqlite3.Connection):
    """Closed, it has nothing to roll back: SQLAlchemy does so again for what an interruption left open, and
    logs an error, which Python prints."""

    _closed = False

    def close(self) -> None:
        self._closed = True
        super().close()

    def rollback(self) -> None:
        if not self._closed:
            super().rollback()


def _connect(path: str) -> sqlite3.Connection:
    """With nothing that a file brings along trusted, and with a write-ahead log, which needs no fsync per
    trial.

    A process can be killed at any moment. After a power cut the last trials may be missing.
    """
    connection = sqlite3.connect(path, timeout=_PATIENCE, check_same_thread=False, factory=_Connection)
    try:
        for pragma in ("trusted_schema=OFF", "journal_mode=WAL", "synchronous=NORMAL"):
            connection.execute(f"PRAGMA {pragma}")
    except BaseException:
        connection.close()
        raise
    return connection


def _study(storage: RDBStorage, identity: Identity, goals: Sequence[Goal], where: str, resume: bool) -> int:
    """The study's number in the database. Makes it if it is not there."""
    from optuna.study import StudyDirection

    names = [study.study_name for study in storage.get_all_studies()]
    if _STUDY in names:
        study = storage.get_study_id_from_name(_STUDY)
        attributes = storage.get_study_user_attrs(study)
        if not resume:
            raise OptctxError(f"cannot keep a study in {where}: it has one already; go on with --resume")
        # Killed before it was written: there are no trials yet.
        if _IDENTITY in attributes or storage.get_n_trials(study):
            identity.check(attributes.get(_IDENTITY), where)
            return int(study)
    else:
        directions = {"minimise": StudyDirection.MINIMIZE, "maximise": StudyDirection.MAXIMIZE}
        with quiet():
            study = storage.create_new_study([directions[goal.direction] for goal in goals], _STUDY)
    storage.set_study_user_attr(study, _IDENTITY, identity.parts)
    return int(study)


@contextmanager
def _explaining(verb: str, where: str, remedy: str = "") -> Iterator[None]:
    """Turn what SQLAlchemy, SQLite, Alembic and JSON raise into an OptctxError that names the study.

    A file may be anything, and so may be what they raise over it.
    """
    try:
        yield
    except OptctxError:
        raise
    except Exception as error:
        cause: BaseException = error
        while cause.__cause__ is not None:
            cause = cause.__cause__
        words = " ".join(str(cause).split())[:200] or type(cause).__name__
        if words == _STOPPED:
            words = "it takes longer than a study of its size; name another file"
        raise OptctxError(f"cannot {verb} the study in {where}: {words}{remedy}") from error
