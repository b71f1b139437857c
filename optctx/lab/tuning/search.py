"""How a space is searched, and until when. The samplers are Optuna's."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from optctx.errors import OptctxError, shown
from optctx.lab.settings import Number, checked, positive, setting
from optctx.lab.settings import seconds as read_seconds
from optctx.lab.space import Choices, Space

if TYPE_CHECKING:
    from optuna.samplers import BaseSampler

_TRIALS = 100  # where no limit is given
_LARGEST_GRID = 1_000_000  # points, which are held in memory
SAMPLERS = ("tpe", "cmaes", "nsga2", "random", "grid")


@dataclass(frozen=True)
class Search:
    """How a space is searched. The first limit that is reached ends it; a trial that runs then is finished.
    No compilation takes longer than `seconds`.

    `sampler`: None is "grid" if `trials` are enough for every point, and "tpe" otherwise. `seed`: the same
    one gives the same trials, if one process searches from the beginning and the figures are the same, on any
    number of threads. `trials` are those of the whole study, earlier runs among them; 100, if no other limit
    is given. `seconds` are of this run.

    Raises OptctxError for a value that cannot be used.
    """

    title: ClassVar[str] = "search"
    sampler: str | None = None
    seed: int = setting(
        0,
        "the same one gives the same trials (%(default)s)",
        metavar="N",
        read=Number(int, "a whole number, 0 or more", lambda found: found >= 0),
    )
    trials: int | None = setting(
        None,
        f"trials of the whole study ({_TRIALS}, without another limit)",
        metavar="N",
        read=positive,
    )
    seconds: float | None = setting(
        None,
        "time for this run; no compilation takes longer, the base's neither",
        metavar="S",
        read=read_seconds,
    )

    def __post_init__(self) -> None:
        checked(self)
        if self.sampler is not None and self.sampler not in SAMPLERS:
            expected = ", ".join(SAMPLERS)
            raise OptctxError(f"expected a sampler of {expected}, found {shown(self.sampler)}")

    @property
    def most(self) -> int | None:
        """Trials of the whole study; None if time alone ends it."""
        return self.trials if self.trials is not None or self.seconds is not None else _TRIALS

    def sampler_for(self, space: Space, objectives: int) -> str:
        """The name of the sampler. Raises OptctxError for one that cannot search this space."""
        if self.sampler is not None:
            _check_sampler(self.sampler, space, objectives)
            return self.sampler
        return "grid" if self.most is not None and space.count <= self.most else "tpe"


def _check_sampler(name: str, space: Space, objectives: int) -> None:
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
            each.values.each()  # raises for one without end
        if space.count > _LARGEST_GRID:
            raise OptctxError(
                f"cannot search a grid of {int(space.count):,} points, the limit is {_LARGEST_GRID:,}; "
                "give fewer values, or take another sampler"
            )


def make_sampler(name: str, seed: int, space: Space) -> BaseSampler:
    """The sampler of Optuna's by its name."""
    from optuna import samplers

    if name == "cmaes":
        independent = samplers.RandomSampler(seed=seed)
        return samplers.CmaEsSampler(
            seed=seed, independent_sampler=independent, warn_independent_sampling=False
        )
    if name == "grid":

        class Grid(samplers.GridSampler):
            def after_trial(self, *given: Any) -> None:
                """Stop nothing: only `Study.optimize` can be stopped."""

        return Grid({each.name: list(each.values.each()) for each in space.dimensions}, seed)
    kinds: dict[str, Any] = {"tpe": samplers.TPESampler, "nsga2": samplers.NSGAIISampler}
    sampler: BaseSampler = kinds.get(name, samplers.RandomSampler)(seed=seed)
    return sampler
