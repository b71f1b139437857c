"""How a space is searched, and until when. The samplers are Optuna's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from optctx.lab.settings import checked, positive, setting
from optctx.lab.settings import seconds as read_seconds
from optctx.lab.space import Space

if TYPE_CHECKING:
    from optuna.samplers import BaseSampler

_TRIALS = 100  # where no limit is given
_LARGEST_GRID = 1_000_000  # points, which are held in memory


@dataclass(frozen=True)
class Search:
    """How a space is searched. The first limit that is reached ends it; a trial that runs then is finished.
    No compilation takes longer than `seconds`.

    `sampler`: one of Optuna's; None is a grid if `trials` are enough for every point, and otherwise TPE. That
    chooses the same points each time that one process searches from the beginning, on any number of threads.
    `trials` are those of the whole study, earlier runs among them; 100, if no other limit is given. `seconds`
    are of this run.

    Raises OptctxError for a value that cannot be used.
    """

    title: ClassVar[str] = "search"
    sampler: BaseSampler | None = None
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

    @property
    def most(self) -> int | None:
        """Trials of the whole study; None if time alone ends it."""
        return self.trials if self.trials is not None or self.seconds is not None else _TRIALS

    def is_grid(self, space: Space) -> bool:
        """Whether every point is tried: the trials are enough for that."""
        return self.sampler is None and space.count <= min(self.most or 0, _LARGEST_GRID)

    def make_sampler(self, space: Space, begun: int) -> BaseSampler:
        """Make Optuna's sampler for a study in which `begun` trials run or have ended."""
        from optuna import samplers

        if self.sampler is not None:
            return self.sampler
        if not self.is_grid(space):
            return samplers.TPESampler(seed=begun)  # with that of the beginning, its points would come again

        class Grid(samplers.GridSampler):
            def after_trial(self, *given: Any) -> None:
                """Stop nothing: only `Study.optimize` can be stopped."""

        return Grid({each.name: list(each.values.each()) for each in space.dimensions}, seed=0)
