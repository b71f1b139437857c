"""Searches in Optuna's storage: a study is made or continued there, and keeps each trial of optctx.

A study has what it is one of, and a trial its record, in the attribute "optctx". A storage is the user's own:
who can write to it is trusted, as Optuna trusts it (SECURITY.md).
"""

from __future__ import annotations

import contextlib
import importlib
import os
import platform
import secrets
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeVar

from optctx.errors import EndedEarlyError, OptctxError, shown
from optctx.lab.space import Space
from optctx.lab.trial import Goal, Trial

if TYPE_CHECKING:
    import optuna
    from optuna.distributions import BaseDistribution
    from optuna.storages import BaseStorage
    from optuna.trial import FrozenTrial, TrialState

T = TypeVar("T")
_NAME = "optctx"  # of the attributes
_OPTUNAS = ("number", "options", "figure")  # of a trial, which Optuna keeps by itself
_OWNER = "optctx:process"  # that runs a trial
_LINE = 1 << 20  # bytes, of a journal
_LONGEST = 200  # characters of an error of another library
_REMEDY = "name another storage"
_SERVER = "://"  # in the address of a database


def need_optuna() -> None:
    """Raise OptctxError, with what to install, where Optuna is not."""
    try:
        importlib.import_module("optuna")
    except ImportError:
        raise OptctxError("cannot search without Optuna: pip install 'optctx[tune]'") from None


@contextmanager
def quiet() -> Iterator[None]:
    """Keep Optuna from logging and warning inside the block. It is short: the settings are the process's."""
    import optuna

    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        optuna.logging.set_verbosity(before)


class Storage:
    """Where Optuna keeps studies: a journal file, a database by its URL, or None for this process's memory.

    Nothing is made before `study`. Optuna works on a thread of its own, so Ctrl-C comes between two steps of
    it: inside one it would leave a lock behind, for which every process waits half a minute.
    """

    def __init__(self, place: str | None) -> None:
        self.place = place
        self._thread = ThreadPoolExecutor(1)
        self._storage: BaseStorage | None = None

    @property
    def is_file(self) -> bool:
        return self.place is not None and _SERVER not in self.place

    @property
    def named(self) -> str:
        """As errors name it, without a password."""
        if self.place is None:
            return "this process's memory"
        return shown(self.place if self.is_file else self.place.split("@")[-1])

    def study(self, name: str, goal: Goal, identity: Mapping[str, Any]) -> Study:
        """Make a study, or continue it. Raises OptctxError for one of something else."""
        study, own = self.do(lambda: self._made(name, goal, identity))
        where = f"the study {shown(name)} in {self.named}"
        if not isinstance(own, dict):
            raise OptctxError(f"cannot resume from {where}: optctx has not made it; {_REMEDY}")
        if changed := [part for part in {**own, **identity} if own.get(part) != identity.get(part)]:
            raise OptctxError(
                f"cannot resume from {where}: its trials differ in {' and '.join(changed[:10])}; repeat its "
                f"arguments, or {_REMEDY}"
            )
        return Study(self, study)

    def _made(self, name: str, goal: Goal, identity: Mapping[str, Any]) -> tuple[optuna.Study, Any]:
        """The study, and what it says that it is one of."""
        import optuna

        found = self._existing(name) or optuna.create_study(
            storage=self._opened(),
            study_name=name,
            direction="minimize" if goal.sign > 0 else "maximize",
            load_if_exists=True,
        )
        if not found.user_attrs and not found.get_trials(deepcopy=False):
            found.set_user_attr(_NAME, identity)
        return found, found.user_attrs.get(_NAME)

    def identity(self, name: str) -> Mapping[str, Any] | None:
        """What an existing study is one of; None if there is none. Makes nothing."""
        if self.place is None or (self.is_file and not os.path.exists(self.place)):
            return None
        study = self.do(lambda: self._existing(name))
        own = None if study is None else self.do(lambda: study.user_attrs.get(_NAME))
        return own if isinstance(own, dict) else None

    def _existing(self, name: str) -> optuna.Study | None:
        """The study of that name, if there is one: to try would leave a line in a journal."""
        import optuna

        storage = self._opened()
        known = name in optuna.get_all_study_names(storage)
        return optuna.load_study(study_name=name, storage=storage) if known else None

    def close(self) -> None:
        """Close the connections, which Optuna leaves to the collector, and end the thread."""
        self._thread.submit(self._disconnect)
        self._thread.shutdown()

    def _disconnect(self) -> None:
        storage: Any = getattr(self._storage, "_backend", self._storage)
        if hasattr(storage, "engine"):  # of a database
            storage.remove_session()
            storage.engine.dispose()

    def _opened(self) -> BaseStorage:
        from optuna import storages

        if self._storage is None:
            if self.place is None:
                self._storage = storages.InMemoryStorage()
            elif self.is_file:
                self._storage = _journal(self.place)
            else:
                self._storage = storages.get_storage(self.place)
        return self._storage

    def do(self, work: Callable[[], T]) -> T:
        """Have Optuna do something. Raises OptctxError for what goes wrong in the storage."""
        future = self._thread.submit(self._do, work)
        try:
            return future.result()
        except KeyboardInterrupt:
            wait([future])
            raise

    def _do(self, work: Callable[[], T]) -> T:
        try:
            with quiet():
                return work()
        except OptctxError:
            raise
        except Exception as error:  # Optuna's, SQLAlchemy's, a driver's or the system's
            words = " ".join(str(error).split())[:_LONGEST] or type(error).__name__
            if isinstance(error, OSError):
                words = error.strerror or words
            kind = EndedEarlyError if self._storage is not None else OptctxError
            raise kind(f"cannot use the storage {self.named}: {words}") from error


def _journal(path: str) -> BaseStorage:
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend, JournalFileSymlinkLock

    lock = JournalFileSymlinkLock(path)
    lock.acquire()
    try:
        _mend(path)
    finally:
        lock.release()
    return JournalStorage(JournalFileBackend(path))


def _mend(path: str) -> None:
    """Take away what a full disk or a power cut has left of a last line: Optuna would append to it.

    Raises OptctxError for another file.
    """
    with contextlib.suppress(FileNotFoundError), open(path, "rb+") as file:
        first = file.readline(_LINE)
        if first and b'"op_code"' not in first:
            raise OptctxError(
                f"cannot use the storage {shown(path)}: expected a journal of Optuna's; name another file"
            )
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _LINE))
        last = file.read()
        if not last.endswith(b"\n"):
            file.truncate(size - len(last) + last.rfind(b"\n") + 1)


class Study:
    """A study of Optuna's, which optctx asks for points and tells what came of them. For one thread.

    `study`: Optuna's own.
    """

    def __init__(self, storage: Storage, study: optuna.Study) -> None:
        self.storage, self.study = storage, study
        self._owner = f"{_owner(os.getpid())} {secrets.token_hex(4)}"

    def ask(self, space: Space) -> optuna.Trial:
        """The next point of the sampler, or one that another process has left."""

        def ask() -> optuna.Trial:
            trial = self.study.ask(_distributions(space))
            trial.set_user_attr(_OWNER, self._owner)
            return trial

        return self.storage.do(ask)

    def tell(self, asked: optuna.Trial, trial: Trial) -> bool:
        """Keep a trial. Returns whether it counts: not if another process took it for lost.

        Its number, options and figure are Optuna's; the attribute has the rest.
        A sampler learns to avoid what is pruned, and ignores what fails: so a crash is pruned.
        """
        from optuna.exceptions import UpdateFinishedTrialError
        from optuna.trial import TrialState

        rest = {name: each for name, each in asdict(trial).items() if name not in _OPTUNAS}

        def tell() -> bool:
            with contextlib.suppress(UpdateFinishedTrialError):
                asked.set_user_attr(_NAME, rest)
                if trial.figure is not None:
                    self.study.tell(asked, trial.figure)
                else:
                    self.study.tell(asked, state=TrialState.PRUNED)
                return True
            return False

        return self.storage.do(tell)

    def trials(self) -> dict[int, Trial]:
        """The trials that have ended, of every process, by number."""
        from optuna.trial import TrialState

        found = self._in_states(TrialState.COMPLETE, TrialState.PRUNED)
        try:
            return {trial.number: _kept(trial) for trial in found}
        except (KeyError, TypeError):
            raise OptctxError(
                f"cannot resume from the study in {self.storage.named}: a trial is not of optctx"
            ) from None

    def counts(self) -> tuple[int, int]:
        """How many trials run or have ended, of every process, and how many different points they try."""
        from optuna.trial import TrialState

        found = self._in_states(TrialState.RUNNING, TrialState.COMPLETE, TrialState.PRUNED)
        return len(found), len({tuple(sorted(trial.params.items())) for trial in found})

    def _in_states(self, *states: TrialState) -> list[FrozenTrial]:
        return self.storage.do(lambda: self.study.get_trials(deepcopy=False, states=states))

    def give_back(self) -> None:
        """Have trials of this search that did not end done again, by the process that asks next."""
        self.storage.do(lambda: self._again(lambda trial: trial.user_attrs.get(_OWNER) == self._owner))

    def take_over(self) -> None:
        """The same for the trials of processes of this machine that are gone."""
        self.storage.do(lambda: self._again(lambda trial: _is_gone(trial.user_attrs.get(_OWNER, ""))))

    def _again(self, which: Callable[[FrozenTrial], bool]) -> None:
        from optuna.exceptions import UpdateFinishedTrialError
        from optuna.trial import TrialState

        for trial in filter(which, self.study.get_trials(deepcopy=False, states=(TrialState.RUNNING,))):
            # If another process is faster, it has it done again.
            with contextlib.suppress(UpdateFinishedTrialError, ValueError):
                self.study.tell(trial.number, state=TrialState.FAIL)
                self.study.enqueue_trial(trial.params)


def _kept(trial: FrozenTrial) -> Trial:
    options = {name: str(value) for name, value in trial.params.items()}
    return Trial(number=trial.number, options=options, figure=trial.value, **trial.user_attrs[_NAME])


def _distributions(space: Space) -> dict[str, BaseDistribution]:
    from optuna import distributions

    found: dict[str, BaseDistribution] = {}
    for each in space.dimensions:
        kind, attributes = each.values.distribution()
        found[each.name] = getattr(distributions, f"{kind}Distribution")(**attributes)
    return found


def _owner(process: int) -> str:
    """What tells a process from every other one, past ones too."""
    with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as file:
        started = file.read().rpartition(")")[2].split()[19]
    return f"{platform.node()} {process} {started}"


def _is_gone(owner: str) -> bool:
    """Whether a process of this machine has ended. What another machine runs is not known."""
    node, _, process = owner.partition(" ")
    if node != platform.node():
        return False
    try:
        return not owner.startswith(_owner(int(process.split()[0])))
    except (OSError, ValueError, IndexError):
        return True
