"""Which options decide whether a trial is among the best: PED-ANOVA, by Optuna."""

from __future__ import annotations

import random
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean

from optctx.lab.trials import Trial
from optctx.lab.tuning.report.data import Data, known_figure, text_of
from optctx.lab.tuning.report.scales import scale_of
from optctx.lab.tuning.samplers import quiet

__all__ = ["BEST", "MEANING", "MOST", "SURE", "importances"]

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


def importances(data: Data) -> dict[str, dict[str, float]]:
    """For each objective the share of each option, the largest first. Together they are 1.

    An objective has no shares if no option decides anything beyond chance, as where all figures are equal, or
    if fewer than two trials have figures. Of many trials some are drawn at random, always the same ones.
    """
    groups = {name: _groups(data, name) for name in data.names}
    varied = {name: own for name, own in groups.items() if len(set(own.values())) > 1}
    if len(data.done) < 2 or not varied:
        return {goal.name: {} for goal in data.study.goals}
    dice = random.Random(0)
    trials = data.done if len(data.done) <= MOST else dice.sample(data.done, MOST)
    evaluate = _evaluator(trials, varied)
    found = {}
    for goal in data.study.goals:
        sign = 1 if goal.direction == "minimise" else -1
        figures = [sign * known_figure(trial, goal) for trial in trials]
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


def _groups(data: Data, name: str) -> dict[str, str]:
    """The group of each value: itself, or one of a few ranges of numbers with about as many trials in each.

    Ranges, because Optuna's estimate of a density over numbers finds differences where there are few trials,
    and because it depends on whether the numbers are seen as logarithms.
    """
    counts = Counter(text for trial in data.done if (text := text_of(trial, name)) is not None)
    scale = scale_of(counts)
    if len(counts) <= _RANGES or not scale.numbers:
        return {text: text for text in counts}
    groups, before, total = {}, 0, counts.total()
    for text in scale.texts:
        groups[text] = str(_RANGES * before // total)
        before += counts[text]
    return groups


def _evaluator(
    trials: Sequence[Trial], groups: Mapping[str, Mapping[str, str]]
) -> Callable[[Sequence[float]], dict[str, float]]:
    """Gives what Optuna says if the trials have these figures, of which the lower are the better."""
    import optuna
    from optuna.distributions import CategoricalDistribution

    kinds = {
        name: CategoricalDistribution(tuple(dict.fromkeys(own.values()))) for name, own in groups.items()
    }

    def frozen(trial: Trial) -> optuna.trial.FrozenTrial:
        texts = {name: text for name in groups if (text := text_of(trial, name)) is not None}
        return optuna.trial.create_trial(
            value=0.0,
            params={name: groups[name][text] for name, text in texts.items()},
            distributions={name: kinds[name] for name in texts},
        )

    with quiet():
        study = optuna.create_study()
        study.add_trials(map(frozen, trials))

    def evaluate(figures: Sequence[float]) -> dict[str, float]:
        with warnings.catch_warnings(), quiet():
            warnings.simplefilter("ignore")  # about few trials, of which the report tells
            evaluator = optuna.importance.PedAnovaImportanceEvaluator(target_quantile=BEST)
            own = evaluator.evaluate(study, params=list(groups), target=lambda trial: figures[trial.number])
        return {name: own[name] for name in groups}

    return evaluate
