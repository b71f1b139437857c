"""How a space is searched, and until when: one record for Python, the flags and a study's identity.

The samplers by name are made of Optuna's, which is optional.
"""

from __future__ import annotations

import contextlib
import importlib
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from optctx.errors import OptctxError
from optctx.lab.settings import Number, checked, no_such, positive, setting
from optctx.lab.settings import seconds as read_seconds
from optctx.lab.space import Choices, Space
from optctx.lab.tuning.results import Front
from optctx.wording import counted

if TYPE_CHECKING:
    from optuna.samplers import BaseSampler

MOST_TRIALS = 100_000  # of a study: what is read back in a minute or two
_TRIALS = 100  # where no limit is given
_WINDOW = 8
SAMPLERS = ("tpe", "cmaes", "nsga2", "random", "grid")
_LARGEST_GRID = 1_000_000  # points, which are held in memory


def _check_sampler_name(name: str) -> None:
    if name not in SAMPLERS:
        raise no_such("sampler", name, SAMPLERS)


@dataclass(frozen=True)
class Search:
    """How a space is searched. The first limit that is reached ends it; a trial that runs then is finished.
    No compilation takes longer than `seconds`.

    `seed`: the same one gives the same trials, if the figures are the same, on any number of threads.
    `window`: a sampler knows nothing of
    trials that are under way, so the search depends on it; where nothing is measured, "random" and "grid"
    need to know nothing, and keep everything busy that compiles. `trials` are those of the whole study,
    earlier runs among them; 100, if no other limit is given. `seconds` are of this run. `patience`: trials in
    a row without a better figure (with several objectives: without a change of the Pareto front).
    `minimise`: in the end, drop options from the best trial as long as that makes it no worse; done anyway
    where the figures are those of a compilation, such as sizes. With one objective.

    Raises OptctxError for a value that cannot be used.
    """

    title: ClassVar[str] = "search"
    sampler: str = setting(
        "tpe",
        "tpe, cmaes, nsga2, random or grid (%(default)s)",
        metavar="NAME",
        same=True,
        check=_check_sampler_name,
    )
    seed: int = setting(
        0,
        "the same one gives the same trials (%(default)s)",
        metavar="N",
        read=Number(int, "a whole number, 0 or more", lambda found: found >= 0),
        same=True,
    )
    window: int | None = setting(
        None,
        f"trials under way at once; the search depends on it ({_WINDOW}; more for random and grid)",
        metavar="N",
        read=positive,
    )
    trials: int | None = setting(
        None,
        f"trials of the whole study ({_TRIALS}, without another limit)",
        metavar="N",
        read=Number(
            int, f"1 or more, at most {MOST_TRIALS:,} trials", lambda found: 1 <= found <= MOST_TRIALS
        ),
    )
    seconds: float | None = setting(
        None,
        "time for this run; no compilation takes longer, the base's neither",
        metavar="S",
        read=read_seconds,
    )
    patience: int | None = setting(
        None,
        "stop after so many trials without progress",
        metavar="N",
        read=positive,
    )
    minimise: bool = setting(False, "drop options that do not matter, also where that takes measuring")

    def __post_init__(self) -> None:
        checked(self)

    @property
    def under_way(self) -> int:
        """The window, where trials depend on each other's figures."""
        return _WINDOW if self.window is None else self.window

    @property
    def most(self) -> int:
        """Trials of the whole study."""
        if self.trials is not None:
            return self.trials
        return _TRIALS if self.seconds is None and self.patience is None else MOST_TRIALS

    def reached(self, trials: Collection[int], running: int, front: Front, started: float) -> str:
        """Which limit trials with these numbers have reached, in words; "" for none.

        `running`: how many others are under way. `front`: that of the trials. `started`: of this
        run, as `time.monotonic` has it.
        """
        if len(trials) + running >= self.most:
            return counted(self.most, "trial")
        if self.seconds is not None and time.monotonic() - started >= self.seconds:
            return f"{self.seconds:g} seconds"
        if self.patience is not None and len(trials) > self.patience:
            newest = max((trial.number for trial in front.trials), default=-1)
            if sum(number > newest for number in trials) >= self.patience:
                return f"no progress for {counted(self.patience, 'trial')}"
        return ""


def need_optuna() -> None:
    """Raise OptctxError, with what to install, where Optuna is not."""
    try:
        importlib.import_module("optuna")
    except ImportError:
        raise OptctxError("cannot search without Optuna: pip install 'optctx[tune]'") from None


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
            each.values.each()  # raises for one without end
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
