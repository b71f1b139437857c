"""The searches by name, made of Optuna's samplers. Needs Optuna, which is optional."""

from __future__ import annotations

import contextlib
import importlib
import random
from collections.abc import Iterator
from typing import TYPE_CHECKING

from optctx.errors import OptctxError
from optctx.tuning.names import no_such
from optctx.tuning.space import Space
from optctx.tuning.values import Choices, Integers, Value, Values

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution
    from optuna.pruners import BasePruner
    from optuna.samplers import BaseSampler

__all__ = [
    "PRUNERS",
    "SAMPLERS",
    "check_sampler",
    "distribution_of",
    "grid_of",
    "make_pruner",
    "make_sampler",
    "need_optuna",
    "quiet",
]

SAMPLERS = ("tpe", "cmaes", "nsga2", "random", "grid")
PRUNERS = ("none", "median", "halving", "hyperband")
_LARGEST_GRID = 1_000_000  # points, which are held in memory


def need_optuna() -> None:
    """Raise OptctxError, with what to install, where Optuna is not."""
    try:
        importlib.import_module("optuna")
    except ImportError:
        raise OptctxError("cannot search without Optuna: pip install 'optctx[tune]'") from None


def check_sampler(name: str, space: Space, objectives: int) -> None:
    """Raise OptctxError for a sampler that does not exist, or cannot search this space."""
    if name not in SAMPLERS:
        raise no_such("sampler", name, SAMPLERS)
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


def make_pruner(name: str) -> BasePruner:
    """The pruner. Raises OptctxError for a name that is none."""
    from optuna import pruners

    match name:
        case "none":
            return pruners.NopPruner()
        case "median":
            return pruners.MedianPruner()
        case "halving":
            return pruners.SuccessiveHalvingPruner()
        case "hyperband":
            return pruners.HyperbandPruner()
    raise no_such("pruner", name, PRUNERS)


def distribution_of(values: Values) -> BaseDistribution:
    """What Optuna calls these values."""
    from optuna import distributions

    if isinstance(values, Choices):
        return distributions.CategoricalDistribution(values.texts)
    if isinstance(values, Integers):
        last = values.low + values.step * int(values.count - 1)
        return distributions.IntDistribution(values.low, last, log=values.log, step=values.step)
    last_float = values.high if values.step is None else values.low + values.step * (values.count - 1)
    return distributions.FloatDistribution(values.low, last_float, log=values.log, step=values.step)


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
