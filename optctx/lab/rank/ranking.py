"""The results of a ranking: options by the effect of their values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from optctx.children.death import ENDS
from optctx.lab.trial import Goal, Trial
from optctx.wording import counted


@dataclass(frozen=True)
class Estimate:
    """What a ranking is going to take, as far as that is known before the first trial."""

    options: int
    values: int
    compilations: int
    seconds: float


@dataclass(frozen=True)
class Effect:
    """An option that was tried. `trials`: largest effect first, those without output last."""

    option: str
    type: str
    base: str
    functions: tuple[str, ...]  # the LLVM functions that read it, demangled
    trials: tuple[Trial, ...] = ()
    changes: bool = False  # whether any of the values changes the output

    @property
    def best(self) -> Trial:
        """The trial with the largest effect."""
        return self.trials[0]

    @property
    def value(self) -> str:
        """The value of that trial."""
        return self.best.options[self.option]


@dataclass(frozen=True)
class NotTried:
    """An option that was read or asked for, but not tried."""

    option: str
    type: str
    reason: str


@dataclass(frozen=True)
class Ranking:
    """The results of `rank`. `effects`: every option that was tried, largest effect first.

    `ended`: why it ended before every value was tried, such as "after 100 compilations"; "" if it did not.
    `left`: the values of which nothing is known then; otherwise 0. `compiled`: the compilations of this run,
    of single values and of groups.
    """

    goal: Goal
    base: Trial
    read: int  # options that LLVM read
    effects: tuple[Effect, ...]
    not_tried: tuple[NotTried, ...]
    refused: tuple[str, ...] = ()  # LLVM's words on values left out
    compiled: int = 0
    ended: str = ""
    left: int = 0

    @property
    def changing(self) -> list[Effect]:
        """The options that change the output, largest effect first."""
        return [effect for effect in self.effects if effect.changes]

    @property
    def trials(self) -> list[Trial]:
        """All trials, by number."""
        found = (trial for effect in self.effects for trial in effect.trials)
        return sorted(found, key=lambda trial: trial.number)

    @property
    def dead(self) -> list[tuple[Effect, Trial]]:
        """Every trial without output, in order of option."""
        dead = [(effect, t) for effect in self.effects for t in effect.trials if t.state != "ok"]
        return sorted(dead, key=lambda pair: pair[0].option)

    def change(self, trial: Trial, name: str) -> float:
        """A figure of a trial relative to the base: 0.5 is 50 % more."""
        here, there = trial.figure(name), self.base.figure(name)
        return 0.0 if here is None or there is None else (here - there) / (there or 1)

    def summary(self) -> list[str]:
        """Lines with the counts of options and trials, and with how it ended."""
        options = (
            f"{self.read} read, {len(self.effects)} tried, "
            f"{counted(len(self.changing), 'changes', 'change')} the output, "
            f"{len(self.not_tried)} not tried"
        )
        ended = Counter(trial.state for _, trial in self.dead)
        trials = [counted(len(self.trials), "value"), f"in {counted(self.compiled, 'compilation')}"]
        trials += [f"{ended[state]} {state}" for state in ENDS if ended[state]]
        lines = [f"{options}; {', '.join(trials)}"]
        if self.ended:
            lines.append(f"ended {self.ended}: nothing is known of {counted(self.left, 'value')}")
        return lines


def changes(trial: Trial, base: Trial) -> bool:
    """Whether a value gives another object, or another number of instructions."""
    names = ("digest", "instructions")
    return trial.state == "ok" and any(trial.attributes[n] != base.attributes[n] for n in names)


def filled(outline: Ranking, trials: Iterable[Trial]) -> Ranking:
    """The ranking that these trials, in the order of their numbers, make of one without trials.

    Its `left` counts all values. The largest effect comes first, equal ones in order of name.
    """
    base, goal = outline.base, outline.goal
    found: dict[str, list[Trial]] = {effect.option: [] for effect in outline.effects}
    for trial in trials:
        for option in trial.options:
            found[option].append(trial)
    effects = []
    for effect in outline.effects:
        if own := sorted(found[effect.option], key=lambda trial: weight(trial, base, goal)):
            changing = any(changes(trial, base) for trial in own)
            effects.append(replace(effect, trials=tuple(own), changes=changing))
    effects.sort(key=lambda each: (not each.changes, *weight(each.best, base, goal), each.option))
    return replace(outline, effects=tuple(effects), left=outline.left - sum(map(len, found.values())))


def weight(trial: Trial, base: Trial, goal: Goal) -> tuple[object, ...]:
    """A sort key, less for a larger effect: by the goal, then by the other figures, then by any change."""
    names = [goal.name, *(name for name in ("size", "instructions") if name != goal.name)]
    effects = []
    for name in names:
        here, there = trial.figure(name) or 0.0, base.figure(name) or 0.0
        effects.append(-abs(here - there) / (there or 1))
    return trial.state != "ok", *effects, not changes(trial, base)
