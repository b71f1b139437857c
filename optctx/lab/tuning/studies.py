"""Searches in Optuna's storage: a study is made or continued there, and keeps each trial of optctx.

A study has what it is one of, and a trial its record, in the attribute "optctx". A storage is the user's own:
who can write to it is trusted, as Optuna trusts it (SECURITY.md).
"""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeVar

from optctx.errors import OptctxError, shown
from optctx.lab.space import Choices, Space, Values
from optctx.lab.trial import Goal, Trial

if TYPE_CHECKING:
    import optuna
    from optuna.distributions import BaseDistribution
    from optuna.storages import BaseStorage
    from optuna.trial import FrozenTrial

T = TypeVar("T")
_NAME = "optctx"  # of the attributes
_OPTUNAS = ("number", "options", "figure")  # of a trial, which Optuna keeps by itself
_LINE = 1 << 20  # bytes, of a journal
_LONGEST = 200  # characters of an error of another library
_SERVER = "://"  # in the address of a database


def need_optuna() -> None:
    """Raise OptctxError, with what to install, where Optuna is not."""
    try:
        import optuna  # noqa: F401
    except ImportError:
        raise OptctxError("cannot search without Optuna: pip install 'optctx[tune]'") from None


def kept_space(place: str | None, name: str) -> Sequence[str]:
    """The space of a study, as `parse_space` reads it; none if there is no such study."""
    if place is None:
        return ()
    import optuna

    def space() -> Sequence[str]:
        storage = _opened(place)
        if name not in optuna.get_all_study_names(storage):
            return ()
        about = optuna.load_study(study_name=name, storage=storage).user_attrs.get(_NAME, {})
        return tuple(about.get("space", ()))

    return _do(place, space)


class Study:
    """A study of Optuna's, which optctx asks for points and tells what came of them. For one thread.

    `place`: a journal file, a database by its URL, or None for this process's memory. `own`: Optuna's.
    """

    def __init__(self, place: str | None, name: str, goal: Goal, about: Mapping[str, Any]) -> None:
        """Make the study, or continue it.

        `about`: what it is one of. Raises OptctxError for a study of something else, and for a storage that
        cannot be used.
        """
        import optuna

        def made() -> optuna.Study:
            study = optuna.create_study(
                storage=_opened(place),
                study_name=name,
                direction="minimize" if goal.sign > 0 else "maximize",
                load_if_exists=True,
            )
            if not study.user_attrs and not study.get_trials(deepcopy=False):
                study.set_user_attr(_NAME, about)
            return study

        self.place = place
        self.own = _do(place, made)
        kept = _do(place, lambda: self.own.user_attrs.get(_NAME, {}))
        if changed := [part for part in {**kept, **about} if kept.get(part) != about.get(part)]:
            raise OptctxError(
                f"cannot resume from the study {shown(name)} in {named(place)}: its trials differ in "
                f"{' and '.join(changed)}; repeat its arguments, or name another storage"
            )

    def ask(self, space: Space) -> optuna.Trial:
        """The next point of the sampler."""
        values = {each.name: _distribution(each.values) for each in space.dimensions}
        return _do(self.place, lambda: self.own.ask(values))

    def tell(self, asked: optuna.Trial, trial: Trial) -> None:
        """Keep a trial.

        Its number, options and figure are Optuna's; the attribute has the rest.
        A sampler learns to avoid what is pruned, and ignores what fails: so a crash is pruned.
        """
        from optuna.trial import TrialState

        rest = {name: each for name, each in asdict(trial).items() if name not in _OPTUNAS}
        state = TrialState.PRUNED if trial.figure is None else None

        def tell() -> None:
            asked.set_user_attr(_NAME, rest)
            self.own.tell(asked, trial.figure, state)

        _do(self.place, tell)

    def ended(self) -> dict[int, Trial]:
        """The trials that have ended, of every process, by number."""
        from optuna.trial import TrialState

        states = TrialState.COMPLETE, TrialState.PRUNED
        found = _do(self.place, lambda: self.own.get_trials(deepcopy=False, states=states))
        return {trial.number: _kept(trial) for trial in found}

    def begun(self) -> int:
        """How many trials there are, of every process."""
        return len(_do(self.place, lambda: self.own.get_trials(deepcopy=False)))


def named(place: str | None) -> str:
    """A storage as messages name it, without a password."""
    if place is None:
        return "this process's memory"
    return shown(place.split("@")[-1] if _SERVER in place else place)


def _do(place: str | None, work: Callable[[], T]) -> T:
    """Have Optuna do something. Raises OptctxError for what goes wrong in the storage.

    It does that on a thread, so Ctrl-C comes between two steps of it: inside one it may leave a lock behind,
    for which every process waits half a minute, or end as another error.
    """
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(_quietly, place, work).result()


def _quietly(place: str | None, work: Callable[[], T]) -> T:
    """Keep Optuna from logging and warning, for the whole process."""
    import optuna

    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return work()
    except OptctxError:
        raise
    except Exception as error:  # Optuna's, SQLAlchemy's, a driver's or the system's
        words = error.strerror if isinstance(error, OSError) else " ".join(str(error).split())[:_LONGEST]
        raise OptctxError(
            f"cannot use the storage {named(place)}: {words or type(error).__name__}"
        ) from error
    finally:
        optuna.logging.set_verbosity(before)


def _opened(place: str | None) -> BaseStorage:
    from optuna import storages
    from optuna.storages.journal import JournalFileBackend, JournalFileSymlinkLock

    if place is None:
        return storages.InMemoryStorage()
    if _SERVER in place:
        return storages.get_storage(place)
    lock = JournalFileSymlinkLock(place)
    lock.acquire()
    try:
        _mend(place)
    finally:
        lock.release()
    return storages.JournalStorage(JournalFileBackend(place))


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


def _kept(trial: FrozenTrial) -> Trial:
    options = {name: str(value) for name, value in trial.params.items()}
    return Trial(number=trial.number, options=options, figure=trial.value, **trial.user_attrs[_NAME])


def _distribution(values: Values) -> BaseDistribution:
    from optuna.distributions import CategoricalDistribution, IntDistribution

    if isinstance(values, Choices):
        return CategoricalDistribution(values.each)
    return IntDistribution(values.low, values.each[-1], log=values.log, step=values.step)
