"""Which points are tried, in which order: the same ones for the same seed and the same figures.

Optuna's samplers search in a study in memory, which this process alone has made. A study that goes on is not
read into it: its points are asked for again, and its figures are told again, in the order of the first time.
So a sampler has the state that it had, and nothing of a file is ever unpickled (CMA-ES keeps pickles in its
trials).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from optctx.lab.space import Dimension, Space, Value, text_of
from optctx.lab.trials import Goal, Trial
from optctx.lab.trials.trialfile import distribution
from optctx.lab.tuning.evaluate import Candidate
from optctx.lab.tuning.search import Search, make_sampler, quiet

if TYPE_CHECKING:
    import optuna

_INDEPENDENT = 10_000  # trials under way, where no point depends on another's figures
_SAME = 10  # points that are known, in a row, before one is drawn by chance
_DRAWS = 1000  # of these
_LISTED = 200_000  # points of a space that is searched for the last ones to try

Key = tuple[tuple[str, str], ...]


@dataclass
class _Asked:
    candidate: Candidate
    trial: optuna.Trial
    values: dict[str, Value]
    result: Trial | None = None
    told: bool = False  # to the sampler


class Asking:
    """Asks a sampler for points that nothing has tried, and tells it what came out.

    Trial `n` is asked for when the figures of trials 0 to `n - window` are told, and of no others, however
    fast they come. `window` is how many trials are under way at once, by the search. With `blocks`, as
    measuring goes, it is asked for when those of all whole blocks of `window` trials before its own are told.
    """

    def __init__(
        self,
        space: Space,
        goals: Sequence[Goal],
        search: Search,
        *,
        blocks: bool = False,
    ) -> None:
        import optuna

        self._space = space
        self._goals = goals
        self.independent = search.sampler in ("random", "grid") and not blocks
        """Whether no point depends on the figures of others, so that trials can be done in any order."""
        self._window = _INDEPENDENT if self.independent else search.under_way
        self._blocks = blocks
        with quiet():
            self._study = optuna.create_study(
                directions=["minimize" if goal.sign > 0 else "maximize" for goal in goals],
                sampler=make_sampler(search.sampler, search.seed),
                pruner=optuna.pruners.NopPruner(),
            )
        self._dice = random.Random(search.seed)
        self._grid: Iterator[dict[str, Value]] | None = None
        if search.sampler == "grid":
            points = space.points()
            random.Random(search.seed).shuffle(points)  # a search that ends early has seen all regions
            self._grid = iter(points)
        self._asked: list[_Asked] = []
        self._known: dict[Key, _Asked] = {}
        self._by_number: dict[int, _Asked] = {}
        self._told = 0  # of `_asked`, from the first one on

    @property
    def running(self) -> list[Candidate]:
        """What was asked for and has no result."""
        return [each.candidate for each in self._asked[self._told :] if each.result is None]

    @property
    def ready(self) -> bool:
        """Whether the next point can be asked for: everything that it depends on is known."""
        return all(each.result is not None for each in self._asked[self._told : self._needed])

    def ask(self) -> Candidate | None:
        """The next point, under the next number; None if every point of the space has been tried."""
        due = self._asked[self._told : self._needed]
        for each in due:
            self._tell(each.trial, each.result)
            each.told = True
            self._told += 1
        for _ in range(_SAME if self._grid is None else 0):
            trial = self._study.ask()
            values = self._suggest(trial)
            same = self._known.get(_key(values))
            if same is None:
                return self._enter(trial, values)
            self._tell(trial, same.result if same.told else None)
        fresh = next((each for each in self._others() if _key(each) not in self._known), None)
        return None if fresh is None else self.ask_for(fresh)

    def ask_for(self, values: Mapping[str, Value], number: int | None = None) -> Candidate:
        """This point, which the space holds; under the next number, or a larger one."""
        self._study.enqueue_trial(dict(values))
        trial = self._study.ask()
        return self._enter(trial, self._suggest(trial), number)

    def values_of(self, number: int) -> Mapping[str, Value]:
        """What a trial tries, as values of the dimensions."""
        return self._by_number[number].values

    def result(self, trial: Trial) -> None:
        """Enter what came out of a trial, in any order."""
        self._by_number[trial.number].result = trial

    @property
    def _needed(self) -> int:
        """How many trials have to be told before the next one is asked for."""
        count = len(self._asked)
        return count // self._window * self._window if self._blocks else max(0, count - self._window + 1)

    def _suggest(self, trial: optuna.Trial) -> dict[str, Value]:
        def suggested(each: Dimension) -> Value:
            kind, attributes = distribution(each.values)
            value: Value = getattr(trial, f"suggest_{kind.lower()}")(each.name, **attributes)
            return value

        return {each.name: suggested(each) for each in self._space.dimensions}

    def _enter(self, trial: optuna.Trial, values: dict[str, Value], number: int | None = None) -> Candidate:
        following = self._asked[-1].candidate.number + 1 if self._asked else 0
        candidate = Candidate(following if number is None else number, _key(values))
        asked = _Asked(candidate, trial, values)
        self._asked.append(asked)
        self._known[_key(values)] = self._by_number[candidate.number] = asked
        return candidate

    def _tell(self, trial: optuna.Trial, result: Trial | None) -> None:
        """Tell the sampler. It learns to avoid what is pruned, and ignores what fails: so a crash is pruned.

        `result`: None of a point that another trial is about to try.
        """
        from optuna.trial import TrialState

        if result is None:
            self._study.tell(trial, state=TrialState.FAIL)
            return
        if result.state == "ok":
            self._study.tell(trial, [result.objectives[goal.name] for goal in self._goals])
        else:
            self._study.tell(trial, state=TrialState.PRUNED)

    def _others(self) -> Iterator[dict[str, Value]]:
        """Yield points without the sampler: of a grid those left, otherwise by chance, while they are new."""
        if self._grid is not None:
            yield from self._grid
            return
        for _ in range(_DRAWS):
            yield self._space.pick(self._dice)
        if self._space.count <= _LISTED:
            left = [each for each in self._space.points() if _key(each) not in self._known]
            yield from [self._dice.choice(left)] if left else []


def go_on(make: Callable[[], Asking], trials: Mapping[int, tuple[Trial, Mapping[str, Value]]]) -> Asking:
    """The asking in the state in which that of these trials was, by number; some others were running.

    `make`: it at its beginning.
    """
    search = make()
    left = dict(trials)
    while left and search.ready:
        candidate = search.ask()
        if candidate is None:
            break
        if candidate.number in left:
            trial, values = left[candidate.number]
            if dict(search.values_of(candidate.number)) != dict(values):
                break
            search.result(trial)
            del left[candidate.number]
    if not left:
        return search
    # Another release of Optuna asks for other points: have it go on from these.
    search = make()
    for number in sorted(trials):
        trial, values = trials[number]
        search.ask_for(values, number)
        search.result(trial)
    return search


def _key(values: Mapping[str, Value]) -> Key:
    return tuple((name, text_of(value)) for name, value in values.items())
