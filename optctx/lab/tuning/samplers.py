"""The searches by name, made of Optuna's samplers. Needs Optuna, which is optional."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from optctx.errors import OptctxError, shown
from optctx.lab.settings import no_such
from optctx.lab.space import Choices, Space, number_of
from optctx.lab.trials import Direction, Goal

if TYPE_CHECKING:
    from optuna.pruners import BasePruner
    from optuna.samplers import BaseSampler

__all__ = [
    "PRUNERS",
    "SAMPLERS",
    "check_pruner",
    "check_pruner_name",
    "check_sampler",
    "check_sampler_name",
    "make_pruner",
    "make_sampler",
    "need_optuna",
    "quiet",
]

SAMPLERS = ("tpe", "cmaes", "nsga2", "random", "grid")
PRUNERS = ("none", "median", "percentile", "halving", "hyperband", "threshold")
_PERCENTILE = 25.0  # of the trials so far, the best of which go on
_NUMBERS = {
    "percentile": "a part in percent behind the colon, such as percentile:25",
    "threshold": "the figure beyond which a trial is stopped, such as threshold:1.5",
}
_LARGEST_GRID = 1_000_000  # points, which are held in memory


def need_optuna() -> None:
    """Raise OptctxError, with what to install, where Optuna is not."""
    try:
        importlib.import_module("optuna")
    except ImportError:
        raise OptctxError("cannot search without Optuna: pip install 'optctx[tune]'") from None


def check_sampler_name(name: str) -> None:
    """Raise OptctxError for a sampler that does not exist."""
    if name not in SAMPLERS:
        raise no_such("sampler", name, SAMPLERS)


def check_pruner_name(text: str) -> None:
    """Raise OptctxError for a pruner that does not exist, or whose number cannot be read."""
    _pruner(text)


def check_sampler(name: str, space: Space, objectives: int) -> None:
    """Raise OptctxError for a sampler that cannot search this space."""
    if name == "cmaes":
        if objectives > 1:
            raise OptctxError("the sampler 'cmaes' takes one objective; use 'nsga2' or 'tpe' for several")
        if all(isinstance(each.values, Choices) for each in space.dimensions):
            raise OptctxError(
                "the sampler 'cmaes' needs options with ranges, such as unroll-count=1..16; use 'tpe' for "
                "choices"
            )
        try:
            importlib.import_module("cmaes")
        except ImportError:
            raise OptctxError("cannot search by 'cmaes' without it: pip install 'optctx[tune]'") from None
    if name == "grid":
        for each in space.dimensions:
            if each.values.count == float("inf"):
                each.values.each()  # raises
        if space.count > _LARGEST_GRID:
            raise OptctxError(
                f"cannot search a grid of {int(space.count):,} points, the limit is {_LARGEST_GRID:,}; "
                "give fewer values, or take another sampler"
            )


def make_sampler(name: str, seed: int) -> BaseSampler:
    """The sampler. For "grid", which picks by itself, one that is never asked."""
    from optuna import samplers

    if name == "cmaes":
        independent = samplers.RandomSampler(seed=seed)
        return samplers.CmaEsSampler(
            seed=seed, independent_sampler=independent, warn_independent_sampling=False
        )
    kinds: dict[str, Any] = {"tpe": samplers.TPESampler, "nsga2": samplers.NSGAIISampler}
    sampler: BaseSampler = kinds.get(name, samplers.RandomSampler)(seed=seed)
    return sampler


def check_pruner(text: str, goals: Sequence[Goal], timed: bool) -> None:
    """Raise OptctxError for a pruner that has nothing to go by: a run time alone has figures before its last.

    `timed`: whether the first goal is one.
    """
    name, _ = _pruner(text)
    if name == "none" or (len(goals) == 1 and timed):
        return
    names = " and ".join(repr(goal.name) for goal in goals)
    why = "which has no rounds to stop between" if len(goals) == 1 else "which are several"
    raise OptctxError(
        f"the pruner {name!r} stops trials between the rounds of a run time, and the search is by {names}, "
        f"{why}; search by 'time' alone, or leave the pruner out"
    )


def make_pruner(text: str, direction: Direction = "minimise") -> BasePruner:
    """The pruner, such as "median" or "percentile:25". Raises OptctxError for one that is none."""
    from optuna import pruners

    name, number = _pruner(text)
    if name == "percentile":
        return pruners.PercentilePruner(_PERCENTILE if number is None else number)
    if name == "threshold":
        assert number is not None
        upper = direction == "minimise"
        return pruners.ThresholdPruner(upper=number) if upper else pruners.ThresholdPruner(lower=number)
    kinds: dict[str, type[BasePruner]] = {
        "median": pruners.MedianPruner,
        "halving": pruners.SuccessiveHalvingPruner,
        "hyperband": pruners.HyperbandPruner,
    }
    return kinds.get(name, pruners.NopPruner)()


def _pruner(text: str) -> tuple[str, float | None]:
    """Its name, and the number behind the colon. Raises OptctxError."""
    name, colon, rest = text.partition(":")
    if name not in PRUNERS:
        raise no_such("pruner", name, PRUNERS)
    number = number_of(rest)
    if name not in _NUMBERS:
        if colon:
            raise OptctxError(f"the pruner {name!r} takes no number, found {shown(text)}; write {name}")
        return name, None
    fits = number is not None and (name == "threshold" or 0 < number < 100)
    if fits or (name == "percentile" and not colon):
        return name, number
    raise OptctxError(f"cannot read the pruner {shown(text)}: expected {_NUMBERS[name]}")


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep Optuna from logging inside the block, which is short: the setting is the process's."""
    import optuna

    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(before)
