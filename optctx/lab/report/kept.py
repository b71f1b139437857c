"""A kept experiment, read again without compiling anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from optctx.compiling import CodeModel, Reloc
from optctx.compiling.job import TARGET
from optctx.errors import OptctxError, shown
from optctx.lab.rank import Ranking, filled
from optctx.lab.report.commands import Source
from optctx.lab.trials import FIGURES, Direction, Goal, Kept, Trial, read_trials
from optctx.lab.tuning.results import Study


@dataclass(frozen=True)
class KeptExperiment:
    """What is in a file: a `study`; beside it a `ranking`, or the `trials` of a sweep, by file, bases first.

    `goal`: the first one.
    What is none of a search is a study of one objective as well, for a page and for Optuna. It is None, and
    `why` says why, for a sweep over several files, and for one that has compiled no base.
    """

    source: Source
    goal: Goal
    study: Study | None
    why: str = ""
    ranking: Ranking | None = None
    trials: tuple[Trial, ...] | None = None


_COMPARED = ("digest", "size", "instructions")


class _UnfitError(Exception):
    """Why a file cannot be reported."""


class _Identity(msgspec.Struct):
    """What a sweep or a ranking is one of, as far as it is shown."""

    goal: str
    space: tuple[str, ...]
    pipelines: tuple[str, ...]
    target: tuple[str, str, str, int, Reloc, CodeModel]
    input: dict[str, str]
    base: tuple[tuple[str, ...], tuple[str, ...]]
    versions: dict[str, str]

    def study(self, goal: Goal, base: Trial, trials: Sequence[Trial], sampler: str, **more: Any) -> Study:
        return Study(
            goals=(goal,),
            base=base,
            trials=tuple(trials),
            sampler=sampler,
            seed=0,
            space=self.space,
            pipelines=self.pipelines or (base.passes,),
            machine={},
            versions=self.versions,
            **more,
        )


class _Sweep(msgspec.Struct):
    """What a sweep keeps beside its trials."""

    bases: tuple[Trial, ...] = ()
    total: int = 0


def read_kept(path: str) -> KeptExperiment:
    """Read the file of a search, a sweep or a ranking. The file does not change.

    Raises OptctxError for a file of something else, and for a search or a ranking that has compiled no base.
    """
    kept = read_trials(path)
    trials = tuple(kept.trials[number] for number in sorted(kept.trials))
    read = {"sweep": _sweep, "rank": _ranking}.get(str(kept.identity.get("experiment")), _search)
    try:
        return read(path, kept, trials)
    except _UnfitError as error:
        raise OptctxError(f"cannot report {shown(path)}: {error}") from None


def _search(path: str, kept: Kept, trials: Sequence[Trial]) -> KeptExperiment:
    source = _converted(kept.notes, "source", Source) or Source("kernel.ll")
    study = _converted(kept.notes, "study", Study)
    if study is None:
        raise _UnfitError("the search ended before its base was compiled; go on with `optctx tune --resume`")
    _check(study.goals, (study.base, *trials))
    if not study.pipelines:
        raise _UnfitError("its study has no pipeline; name another file")
    return KeptExperiment(source, study.goals[0], replace(study, trials=tuple(trials), file=path))


def _sweep(path: str, kept: Kept, trials: Sequence[Trial]) -> KeptExperiment:
    identity, goal, source = _identified(kept)
    noted = _converted(kept.notes, "sweep", _Sweep) or _Sweep()
    _check((goal,), (*noted.bases, *trials))
    ended = "every combination was compiled" if len(trials) >= noted.total > 0 else ""
    study = None
    if noted.bases and len(identity.input) == 1:
        base = noted.bases[0]
        study = identity.study(goal, base, trials, "grid", ended=ended, total=noted.total, file=path)
    why = "its base was not compiled" if not noted.bases else "it is a sweep over several files"
    names = list(identity.input)
    ordered = sorted(trials, key=lambda trial: names.index(trial.file) if trial.file in names else -1)
    return KeptExperiment(source, goal, study, why, trials=(*noted.bases, *ordered))


def _ranking(path: str, kept: Kept, trials: Sequence[Trial]) -> KeptExperiment:
    identity, goal, source = _identified(kept)
    outline = _converted(kept.notes, "ranking", Ranking)
    if outline is None:
        raise _UnfitError("the ranking ended before its base was compiled; go on with `optctx rank --resume`")
    _check((goal,), (outline.base, *trials))
    tried = {effect.option for effect in outline.effects}
    whole = [trial for trial in (outline.base, *trials) if trial.state == "ok"]
    if (
        outline.goal != goal
        or any(not isinstance(trial.attributes.get(name), str | int) for trial in whole for name in _COMPARED)
        or any(len(trial.options) != 1 or not tried.issuperset(trial.options) for trial in trials)
    ):
        raise _UnfitError("its trials are not of its ranking; name another file")
    ranking = filled(outline, trials)  # after a kill there can be more trials than were planned by then
    ranking = replace(ranking, left=max(ranking.left, 0) if ranking.ended else 0)
    ended = "" if ranking.ended else "every value was tried"
    base, total, way = outline.base, outline.left, "one option at a time"
    study = identity.study(goal, base, trials, way, ended=ended, total=total, file=path)
    return KeptExperiment(source, goal, study, ranking=ranking)


def _identified(kept: Kept) -> tuple[_Identity, Goal, Source]:
    """What a sweep or a ranking is one of, what it goes by, and what it compiles."""
    try:
        identity = msgspec.convert(kept.identity, _Identity)
        name, _, words = identity.goal.partition(": ")
        goal = Goal(name, FIGURES[name], msgspec.convert(words, Direction))
    except (msgspec.ValidationError, KeyError) as error:
        raise _UnfitError(f"it does not say what it is of ({error}); name another file") from None
    file = next(iter(identity.input), "") or "kernel.ll"
    target: dict[str, Any] = dict(zip(TARGET, identity.target, strict=True))
    source = Source(file, file.endswith(".bc"), **target, options=identity.base[0])
    return identity, goal, source


def _check(goals: Sequence[Goal], trials: Sequence[Trial]) -> None:
    """Raise for trials that have not the figures of the goals."""
    names = {goal.name for goal in goals}
    for trial in trials:
        if (set(trial.objectives) == names) is not (trial.state == "ok") or not names:
            raise _UnfitError(f"its trial {trial.number} has not the figures of its study; name another file")


def _converted(notes: Mapping[str, Any], name: str, kind: type[Any]) -> Any:
    """A note as a record; None if there is none. Raises for one that is none."""
    if name not in notes:
        return None
    try:
        return msgspec.convert(notes[name], kind)
    except msgspec.ValidationError as error:
        raise _UnfitError(f"its note {name!r} is wrong ({error})") from None
