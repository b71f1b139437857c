"""Which options decide whether a trial is among the best: PED-ANOVA, by Optuna."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING

from optctx.errors import OptctxError
from optctx.tuning.report.data import Data, figure_of, text_of
from optctx.tuning.report.scales import Scale, scale_of
from optctx.tuning.results import Goal, Trial

if TYPE_CHECKING:
    import optuna
    from optuna.distributions import BaseDistribution

__all__ = ["BEST", "MEANING", "SURE", "importances", "need_optuna"]

BEST = 0.1  # of the trials
SURE = 50  # trials: five of them are the best
MEANING = (
    "How differently an option's values are distributed among the best 10 % of the trials and among all of them, "
    "as a share of all options (PED-ANOVA, Watanabe et al. 2023, by Optuna; options with a condition by its "
    "extension of 2026). It tells what it takes to be among the best in this search. It tells neither how much an "
    "option changes a figure, nor which options work only together."
)


def need_optuna() -> None:
    """Raise OptctxError, with what to install, where Optuna is not."""
    try:
        importlib.import_module("optuna")
    except ImportError:
        raise OptctxError("cannot write a report without Optuna: pip install 'optctx[tune]'") from None


def importances(data: Data, goal: Goal) -> dict[str, float]:
    """The share of each option, the largest first. Together they are 1.

    Empty with fewer than two trials that have figures, and if no option decides anything, as where all figures
    are equal.
    """
    if len(data.done) < 2:
        return {}
    scales = {name: _scale(data, name) for name in data.names}
    varied = {name: scale for name, scale in scales.items() if len(scale.texts) > 1}
    if not varied:
        return {}
    found = _evaluate(data.done, varied, goal)
    total = sum(found.values())
    if not total > 0:
        return {}
    order = sorted(varied, key=lambda name: -found[name])  # stable: ties as the study has them
    return {name: found[name] / total for name in order}


def _scale(data: Data, name: str) -> Scale:
    return scale_of(text for trial in data.done if (text := text_of(trial, name)) is not None)


def _evaluate(trials: list[Trial], scales: Mapping[str, Scale], goal: Goal) -> dict[str, float]:
    import optuna

    kinds = {name: _distribution(scale) for name, scale in scales.items()}
    direction = "minimize" if goal.direction == "minimise" else "maximize"
    with warnings.catch_warnings():  # about few trials, of which the report tells
        warnings.simplefilter("ignore")
        before = optuna.logging.get_verbosity()
        optuna.logging.set_verbosity(optuna.logging.CRITICAL)
        try:
            study = optuna.create_study(direction=direction)
            study.add_trials(_frozen(trial, scales, kinds, goal) for trial in trials)
            evaluator = optuna.importance.PedAnovaImportanceEvaluator(target_quantile=BEST)
            return evaluator.evaluate(study, params=list(scales))
        finally:
            optuna.logging.set_verbosity(before)


def _frozen(
    trial: Trial, scales: Mapping[str, Scale], kinds: Mapping[str, BaseDistribution], goal: Goal
) -> optuna.trial.FrozenTrial:
    import optuna

    texts = {name: text for name in scales if (text := text_of(trial, name)) is not None}
    return optuna.trial.create_trial(
        value=figure_of(trial, goal),
        params={name: text if _listed(scales[name]) else scales[name].values[text] for name, text in texts.items()},
        distributions={name: kinds[name] for name in texts},
    )


def _listed(scale: Scale) -> bool:
    return scale.few or not scale.numbers


def _distribution(scale: Scale) -> BaseDistribution:
    from optuna import distributions

    if _listed(scale):
        return distributions.CategoricalDistribution(scale.texts)
    return distributions.FloatDistribution(scale.numbers[0], scale.numbers[-1], log=scale.log)
