"""Trials as a study of Optuna's: for its figures, its importances, and any storage that it supports."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from optctx.errors import OptctxError, shown
from optctx.lab.space import PASSES
from optctx.lab.trials import Goal, Trial
from optctx.lab.tuning.results import Study
from optctx.lab.tuning.search import need_optuna, quiet

if TYPE_CHECKING:
    import optuna
    from optuna.distributions import BaseDistribution

__all__ = ["export", "options_of", "optuna_study", "wide"]

_WIDE = 32  # times the least value: from here on an axis is logarithmic
_MOST_GAP = 10_000  # numbers that no trial has, which stand for trials that had not ended


def options_of(trial: Trial, varied: bool) -> dict[str, str]:
    """What a trial tried. `varied`: its pipeline is an option, too."""
    return {**({PASSES: trial.passes} if varied else {}), **trial.options}


def optuna_study(
    study: Study, trials: Sequence[Trial], read: Callable[[str, str], Any] | None = None, **more: Any
) -> optuna.Study:
    """These trials of a study, in their order. `read`: what a text of an option counts as.

    Without it an option whose texts are all numbers has numbers, on a logarithmic scale where they are far
    apart. `more`: for `optuna.create_study`.
    """
    import optuna
    from optuna.study import StudyDirection

    varied = len(study.pipelines) > 1
    points = [options_of(trial, varied) for trial in trials]
    kinds = {
        name: _Kind([point[name] for point in points if name in point], read, name)
        for name in dict.fromkeys(name for point in points for name in point)
    }
    names = {"minimise": StudyDirection.MINIMIZE, "maximise": StudyDirection.MAXIMIZE}
    with quiet():
        made = optuna.create_study(directions=[names[goal.direction] for goal in study.goals], **more)
        made.add_trials(
            _frozen(trial, point, kinds, study.goals) for trial, point in zip(trials, points, strict=True)
        )
    return made


class _Kind:
    """What the texts of one option are to Optuna."""

    def __init__(self, texts: Sequence[str], read: Callable[[str, str], Any] | None, name: str) -> None:
        from optuna import distributions

        distinct = list(dict.fromkeys(texts))
        numbers = [number for text in distinct if read is None and (number := _number(text)) is not None]
        self.values: dict[str, Any] = {text: text if read is None else read(name, text) for text in distinct}
        if len(numbers) < len(distinct):
            choices = tuple(dict.fromkeys(self.values.values()))
            self.distribution: BaseDistribution = distributions.CategoricalDistribution(choices)
            return
        self.values = dict(zip(distinct, numbers, strict=True))
        low, high = min(numbers), max(numbers)
        if all(isinstance(number, int) for number in numbers):
            self.distribution = distributions.IntDistribution(low, high, log=wide(numbers))  # type: ignore[arg-type]
        else:
            self.distribution = distributions.FloatDistribution(low, high, log=wide(numbers))


def wide(numbers: Iterable[float]) -> bool:
    """Whether an axis of these numbers is logarithmic: most of them would stand at its beginning."""
    ordered = sorted(set(numbers))
    far = len(ordered) > 1 and ordered[0] > 0 and ordered[-1] / ordered[0] >= _WIDE
    return far and ordered[len(ordered) // 2] <= ordered[-1] / 4


def _number(text: str) -> float | None:
    """A number with which Optuna can compute."""
    try:
        number = float(text)
        whole = int(text) if text.lstrip("-").isdecimal() else None
    except ValueError:
        return None
    if not math.isfinite(number) or abs(number) > 1e15:
        return None
    return number if whole is None else whole


def _frozen(
    trial: Trial, point: dict[str, str], kinds: dict[str, _Kind], goals: Sequence[Goal]
) -> optuna.trial.FrozenTrial:
    import optuna

    states = {"ok": optuna.trial.TrialState.COMPLETE, "pruned": optuna.trial.TrialState.PRUNED}
    return optuna.trial.create_trial(
        state=states.get(trial.state, optuna.trial.TrialState.FAIL),
        values=[trial.objectives[goal.name] for goal in goals] if trial.state == "ok" else None,
        params={name: kinds[name].values[text] for name, text in point.items()},
        distributions={name: kinds[name].distribution for name in point},
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
