"""Which options decide whether a trial is among the best: PED-ANOVA, by Optuna."""

from __future__ import annotations

import random
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from statistics import fmean

from optctx.lab.report.optuna_study import options_of, optuna_study
from optctx.lab.space import number_of
from optctx.lab.trials import Goal, Trial
from optctx.lab.tuning.results import Study
from optctx.lab.tuning.search import quiet

BEST = 0.2  # of the trials
SURE = 100  # trials: twenty of them are the best
MOST = 500  # trials that are looked at
MEANING = (
    "How differently the values of an option are distributed among the best fifth of the trials and among "
    "all (PED-ANOVA by Optuna; Watanabe et al. 2023), as its share of what all options together have. What "
    "shuffled figures give is taken off; 0 is no more than chance. It tells what the best trials of this "
    "search have in common. It tells neither how much an option changes a figure, nor which options work "
    "only together."
)
_RANGES = 6  # of numbers
_SHUFFLES = 19  # of the figures: one option in twenty seems to matter by chance


def importances(study: Study) -> dict[str, dict[str, float]]:
    """For each objective the share of each option, the largest first. Together they are 1.

    An objective has no shares if no option decides anything beyond chance, as where all figures are equal, or
    if fewer than two trials have figures. Of many trials some are drawn at random, always the same ones.
    """
    done = [trial for trial in study.trials if trial.state == "ok"]
    points = [options_of(trial, len(study.pipelines) > 1) for trial in done]
    groups = {
        name: _groups([point[name] for point in points if name in point])
        for name in dict.fromkeys(name for point in points for name in point)
    }
    varied = {name: own for name, own in groups.items() if len(set(own.values())) > 1}
    if len(done) < 2 or not varied:
        return {goal.name: {} for goal in study.goals}
    dice = random.Random(0)
    trials = done if len(done) <= MOST else dice.sample(done, MOST)
    evaluate = _evaluator(study, trials, varied)
    found = {}
    for goal in study.goals:
        figures = [goal.sign * trial.objectives[goal.name] for trial in trials]
        chance = [evaluate(dice.sample(figures, len(figures))) for _ in range(_SHUFFLES)]
        found[goal.name] = _shares(evaluate(figures), chance)
    return found


def _shares(found: Mapping[str, float], chance: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """What is beyond chance: nothing for an option that shuffled figures give as much for."""
    beyond = {}
    for name, value in found.items():
        shuffled = [each[name] for each in chance]
        beyond[name] = value - fmean(shuffled) if value > max(shuffled) else 0.0
    total = sum(beyond.values())
    if not total > 0:
        return {}
    order = sorted(found, key=lambda name: -beyond[name])  # stable: ties as the study has them
    return {name: beyond[name] / total for name in order}


def _groups(texts: Sequence[str]) -> dict[str, str]:
    """The group of each value: itself, or one of a few ranges of numbers with about as many trials in each.

    Ranges, because Optuna's estimate of a density over numbers finds differences where there are few trials,
    and because it depends on whether the numbers are seen as logarithms.
    """
    counts = Counter(texts)
    numbers = {text: number for text in counts if (number := number_of(text)) is not None}
    if len(counts) <= _RANGES or len(numbers) < len(counts):
        return {text: text for text in counts}
    groups, before, total = {}, 0, counts.total()
    for text in sorted(counts, key=numbers.__getitem__):
        groups[text] = str(_RANGES * before // total)
        before += counts[text]
    return groups


def _evaluator(
    study: Study, trials: Sequence[Trial], groups: Mapping[str, Mapping[str, str]]
) -> Callable[[Sequence[float]], dict[str, float]]:
    """Gives what Optuna says if the trials have these figures, of which the lower are the better."""
    import optuna

    none, several = Goal("", ""), len(study.pipelines) > 1

    def grouped(trial: Trial) -> Trial:
        point = options_of(trial, several)
        # No numbers: nothing lies between two groups.
        own = {name: f"group {of[point[name]]}" for name, of in groups.items() if name in point}
        return replace(trial, objectives={none.name: 0.0}, options=own)

    made = optuna_study(replace(study, goals=(none,), pipelines=()), [*map(grouped, trials)])

    def evaluate(figures: Sequence[float]) -> dict[str, float]:
        with warnings.catch_warnings(), quiet():
            warnings.simplefilter("ignore")  # about few trials, of which the report tells
            evaluator = optuna.importance.PedAnovaImportanceEvaluator(target_quantile=BEST)
            own = evaluator.evaluate(made, params=list(groups), target=lambda trial: figures[trial.number])
        return {name: own[name] for name in groups}

    return evaluate
