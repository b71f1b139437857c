"""The searches by name, made of Optuna's samplers. Needs Optuna, which is optional."""

from __future__ import annotations

import contextlib
import importlib
import random
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from optctx.errors import OptctxError, shown
from optctx.lab.settings import no_such
from optctx.lab.space import Choices, Space, Value, number_of
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
    "grid_of",
    "learns",
    "make_pruner",
    "make_sampler",
    "need_optuna",
    "quiet",
]

SAMPLERS = ("tpe", "cmaes", "nsga2", "random", "grid")
PRUNERS = ("none", "median", "percentile", "halving", "hyperband", "threshold")
_PERCENTILE = 25.0  # of the trials so far, the best of which go on
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
                "give fewer "
                "values, or take another sampler"
            )


def make_sampler(name: str, seed: int) -> BaseSampler:
    """The sampler. For "grid", which picks by itself, one that is never asked."""
    from optuna import samplers

    match name:
        case "cmaes":
            independent = samplers.RandomSampler(seed=seed)
            return samplers.CmaEsSampler(
                seed=seed, independent_sampler=independent, warn_independent_sampling=False
            )
        case "nsga2":
            return samplers.NSGAIISampler(seed=seed)
        case "tpe":
            return samplers.TPESampler(seed=seed)
        case _:
            return samplers.RandomSampler(seed=seed)


def learns(name: str) -> bool:
    """Whether the points of a sampler depend on the figures of other points."""
    return name not in ("random", "grid")


def check_pruner(text: str, goals: Sequence[Goal], intermediate: bool) -> None:
    """Raise OptctxError for a pruner that has nothing to go by.

    `intermediate`: whether the objective has figures before the last one.
    """
    name, _ = _pruner(text)
    if name == "none":
        return
    if len(goals) == 1 and intermediate:
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
    match name:
        case "median":
            return pruners.MedianPruner()
        case "percentile":
            return pruners.PercentilePruner(_PERCENTILE if number is None else number)
        case "halving":
            return pruners.SuccessiveHalvingPruner()
        case "hyperband":
            return pruners.HyperbandPruner()
        case "threshold":
            assert number is not None
            upper = direction == "minimise"
            return pruners.ThresholdPruner(upper=number) if upper else pruners.ThresholdPruner(lower=number)
    return pruners.NopPruner()


def _pruner(text: str) -> tuple[str, float | None]:
    """Its name, and the number behind the colon. Raises OptctxError."""
    name, colon, rest = text.partition(":")
    if name not in PRUNERS:
        raise no_such("pruner", name, PRUNERS)
    number = number_of(rest)
    if name == "percentile" and (not colon or (number is not None and 0 < number < 100)):
        return name, number
    if name == "percentile":
        raise OptctxError(
            f"cannot read the pruner {shown(text)}: expected a part in percent behind the colon, such as "
            "percentile:25"
        )
    if name == "threshold" and number is None:
        raise OptctxError(
            f"cannot read the pruner {shown(text)}: expected the figure beyond which a trial is stopped, "
            "such as threshold:1.5"
        )
    if colon and name != "threshold":
        raise OptctxError(f"the pruner {name!r} takes no number, found {shown(text)}; write {name}")
    return name, number


def grid_of(space: Space, seed: int) -> list[dict[str, Value]]:
    """Every point, in an order of chance: a search that ends early has seen all regions."""
    points = list(space.points())
    random.Random(seed).shuffle(points)
    return points


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
