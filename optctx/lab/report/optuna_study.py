"""Trials as a study of Optuna's: for its figures, its importances, and any storage that it supports."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from optctx.errors import OptctxError, shown
from optctx.lab.space import PASSES, number_of
from optctx.lab.trials import Goal, Trial
from optctx.lab.tuning.results import Study
from optctx.lab.tuning.search import need_optuna, quiet

if TYPE_CHECKING:
    import optuna
    from optuna.distributions import BaseDistribution

# What the texts of an option are to Optuna: the value of each, and the distribution that they are from.
_Kind = tuple[Mapping[str, Any], "BaseDistribution"]

_WIDE = 32  # times the least value: from here on an axis is logarithmic
_MOST_GAP = 10_000  # numbers that no trial has, which stand for trials that had not ended


def options_of(trial: Trial, varied: bool) -> dict[str, str]:
    """What a trial tried. `varied`: its pipeline is an option, too."""
    return {**({PASSES: trial.passes} if varied else {}), **trial.options}


def optuna_study(study: Study, trials: Sequence[Trial], **more: Any) -> optuna.Study:
    """These trials of a study, in their order. `more`: for `optuna.create_study`.

    An option whose texts are all numbers has numbers, on a logarithmic scale where they are far apart.
    """
    import optuna
    from optuna.study import StudyDirection

    varied = len(study.pipelines) > 1
    points = [options_of(trial, varied) for trial in trials]
    kinds = {
        name: _kind(dict.fromkeys(point[name] for point in points if name in point))
        for name in dict.fromkeys(name for point in points for name in point)
    }
    names = {"minimise": StudyDirection.MINIMIZE, "maximise": StudyDirection.MAXIMIZE}
    with quiet():
        made = optuna.create_study(directions=[names[goal.direction] for goal in study.goals], **more)
        made.add_trials(
            _frozen(trial, point, kinds, study.goals) for trial, point in zip(trials, points, strict=True)
        )
    return made


def _kind(texts: Iterable[str]) -> _Kind:
    from optuna import distributions

    numbers = {text: _number(text) for text in texts}
    found = [number for number in numbers.values() if number is not None]
    if len(found) < len(numbers):
        return {text: text for text in texts}, distributions.CategoricalDistribution(tuple(numbers))
    low, high, log = min(found), max(found), wide(found)
    if all(isinstance(number, int) for number in found):
        return numbers, distributions.IntDistribution(low, high, log=log)  # type: ignore[arg-type]
    return numbers, distributions.FloatDistribution(low, high, log=log)


def wide(numbers: Iterable[float]) -> bool:
    """Whether an axis of these numbers is logarithmic: most of them would stand at its beginning."""
    ordered = sorted(set(numbers))
    far = len(ordered) > 1 and ordered[0] > 0 and ordered[-1] / ordered[0] >= _WIDE
    return far and ordered[len(ordered) // 2] <= ordered[-1] / 4


def _number(text: str) -> float | None:
    """A number with which Optuna can compute."""
    number = number_of(text)
    if number is None or abs(number) > 1e15:
        return None
    return int(text) if text.lstrip("-").isdecimal() else number


def _frozen(
    trial: Trial, point: dict[str, str], kinds: dict[str, _Kind], goals: Sequence[Goal]
) -> optuna.trial.FrozenTrial:
    import optuna

    states = {"ok": optuna.trial.TrialState.COMPLETE, "pruned": optuna.trial.TrialState.PRUNED}
    return optuna.trial.create_trial(
        state=states.get(trial.state, optuna.trial.TrialState.FAIL),
        values=[trial.objectives[goal.name] for goal in goals] if trial.state == "ok" else None,
        params={name: kinds[name][0][text] for name, text in point.items()},
        distributions={name: kinds[name][1] for name in point},
        user_attrs={"state": trial.state, "error": trial.error, **trial.attributes},
    )


@contextmanager
def _opened(storage: str) -> Iterator[optuna.storages.RDBStorage]:
    """Its connections are closed at the end; Optuna leaves them to the collector."""
    from optuna.storages import RDBStorage

    opened = RDBStorage(storage)
    try:
        yield opened
    finally:
        opened.remove_session()
        opened.engine.dispose()


def export(study: Study, storage: str, name: str) -> int:
    """Fill a study in a storage of Optuna's, such as "sqlite:///night.db", under the same numbers of trials.

    Returns how many trials it has. A number that no trial has, because it had not ended, is a failed trial.
    Raises OptctxError without Optuna, for a name that is there already, and for a storage that fails.
    """
    need_optuna()
    known = {trial.number: trial for trial in study.trials}
    last = max(known, default=-1)
    if last + 1 - len(known) > _MOST_GAP:
        raise OptctxError(f"cannot export trials with numbers up to {last:,}: {len(known):,} are known")
    gap = Trial(-1, {}, study.base.passes, "failed", {}, error="it had not ended")
    trials = [known.get(number, gap) for number in range(last + 1)]
    try:
        with warnings.catch_warnings(), _opened(storage) as opened:
            warnings.simplefilter("ignore")  # of what Optuna calls experimental
            made = optuna_study(study, trials, storage=opened, study_name=name)
            made.set_metric_names([goal.name for goal in study.goals])
    except OptctxError:
        raise
    except Exception as error:  # Optuna's, SQLAlchemy's or a driver's
        words = " ".join(str(error).split())[:200] or type(error).__name__
        raise OptctxError(f"cannot write the study to {shown(storage.split('@')[-1])}: {words}") from error
    return len(trials)
