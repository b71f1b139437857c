"""A kept study, read again without compiling anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from optctx.errors import OptctxError, shown
from optctx.lab.report.commands import Source
from optctx.lab.trials import Trial, read_trials
from optctx.lab.tuning.results import Study

__all__ = ["KeptStudy", "read_study"]


@dataclass(frozen=True)
class KeptStudy:
    """What is in a file. `study` is None for another experiment than a search, such as a grid."""

    experiment: str
    trials: tuple[Trial, ...]
    study: Study | None
    source: Source


def read_study(path: str) -> KeptStudy:
    """Read the file of a search, or the trials of another experiment. The file does not change.

    Raises OptctxError for a file of something else, and for a search that ended before it had a base.
    """
    kept = read_trials(path)
    experiment = str(kept.identity.get("experiment", ""))
    trials = tuple(kept.trials[number] for number in sorted(kept.trials))
    source = _converted(path, kept.notes, "source", Source) or Source("kernel.ll")
    if experiment != "tune":
        return KeptStudy(experiment, trials, None, source)
    study = _converted(path, kept.notes, "study", Study)
    if study is None:
        raise OptctxError(
            f"cannot report {shown(path)}: the search ended before its base was compiled; go on with `optctx "
            "tune --resume`"
        )
    goals = {goal.name for goal in study.goals}
    for trial in (study.base, *trials):
        if (set(trial.objectives) == goals) is not (trial.state == "ok") or not study.pipelines or not goals:
            raise OptctxError(
                f"cannot report {shown(path)}: its trial {trial.number} has not the figures of its study; "
                "name another file"
            )
    return KeptStudy(experiment, trials, replace(study, trials=trials, file=path), source)


def _converted(path: str, notes: Mapping[str, Any], name: str, kind: type[Any]) -> Any:
    """A note as a record; None if there is none. Raises OptctxError for one that is none."""
    if name not in notes:
        return None
    try:
        return msgspec.convert(notes[name], kind)
    except msgspec.ValidationError as error:
        raise OptctxError(f"cannot report {shown(path)}: its note {name!r} is wrong ({error})") from None
