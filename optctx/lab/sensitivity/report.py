"""The results of all trials, ranked by effect."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from optctx.values.read_values import Value
from optctx.wording import counted

__all__ = ["By", "Effect", "NotTried", "Report", "Trial", "Verdict"]

By = Literal["instructions", "size"]
# fails: LLVM refused to compile, with an error; crashes: the process ended, by a signal or a fatal error
Verdict = Literal["changes", "same", "fails", "crashes", "timeout"]

_ENDED: dict[Verdict, str] = {"crashes": "crashed", "timeout": "timed out", "fails": "failed"}


@dataclass(frozen=True)
class Trial:
    """One compilation with one option changed. If it died or failed, the numbers are 0."""

    value: Value  # None: the option was left out
    verdict: Verdict
    instructions: int = 0  # of IR, after the passes
    object_size: int = 0  # bytes
    instructions_change: float = 0.0  # relative to the base: 0.5 is 50 % more
    size_change: float = 0.0
    ir_changes: bool = False  # the text of the module after the passes
    object_changes: bool = False
    reason: str = ""  # what went wrong, if anything

    @property
    def dead(self) -> bool:
        """Whether there is no output to compare."""
        return self.verdict not in ("changes", "same")

    def weight(self, by: By) -> tuple[float, float, bool]:
        """Larger for a larger effect: first by the change in `by`, then by the other, then by any change."""
        sizes = (abs(self.instructions_change), abs(self.size_change))
        first, second = sizes if by == "instructions" else sizes[::-1]
        return first, second, self.verdict == "changes"


@dataclass(frozen=True)
class Effect:
    """An option that was tried. `trials`: largest effect first, those without output last."""

    option: str
    type: str
    base: Value
    functions: tuple[str, ...]  # the LLVM functions that read it, demangled
    trials: tuple[Trial, ...]

    @property
    def best(self) -> Trial:
        """The trial with the largest effect."""
        return self.trials[0]

    @property
    def changes(self) -> bool:
        """Whether any of the values changes the output."""
        return self.best.verdict == "changes"


@dataclass(frozen=True)
class NotTried:
    """An option that was read or asked for, but not tried."""

    option: str
    type: str
    reason: str


@dataclass(frozen=True)
class Report:
    """The results of `sensitivity`. `effects`: every option that was tried, largest effect first.

    `left`: after an interrupt, trials that did not end; otherwise None. Nothing is said of them, and the base
    was not compiled again to see whether the others can be trusted.
    """

    by: By
    instructions: int  # of the base
    object_size: int  # bytes, of the base
    read: int  # options that LLVM read
    effects: tuple[Effect, ...]
    not_tried: tuple[NotTried, ...]
    refused: tuple[tuple[str, Value, str], ...] = ()  # (option, value, LLVM's words) of values left out
    left: int | None = None

    @property
    def changing(self) -> list[Effect]:
        """The options that change the output, largest effect first."""
        return [effect for effect in self.effects if effect.changes]

    @property
    def dead(self) -> list[tuple[Effect, Trial]]:
        """Every trial without output, in order of option."""
        dead = [(effect, trial) for effect in self.effects for trial in effect.trials if trial.dead]
        return sorted(dead, key=lambda pair: pair[0].option)

    @property
    def trials(self) -> int:
        """The number of compilations besides the base."""
        return sum(len(effect.trials) for effect in self.effects)

    @property
    def progress(self) -> str:
        """The number of trials, and of how many after an interrupt."""
        if self.left is None:
            return counted(self.trials, "trial")
        return f"interrupted after {self.trials} of {counted(self.trials + self.left, 'trial')}"

    def summary(self) -> str:
        """One line with the counts of options and trials."""
        options = (
            f"{self.read} read, {len(self.effects)} tried, "
            f"{counted(len(self.changing), 'changes', 'change')} the output, "
            f"{len(self.not_tried)} not tried"
        )
        ended = Counter(trial.verdict for _, trial in self.dead)
        trials = [self.progress]
        trials += [f"{ended[verdict]} {word}" for verdict, word in _ENDED.items() if ended[verdict]]
        return f"{options}; {', '.join(trials)}"


def ranked_trials(trials: Sequence[Trial], by: By) -> tuple[Trial, ...]:
    """Largest effect first. Equal ones keep the order in which values are tried, the most ordinary first."""
    return tuple(sorted(trials, key=lambda trial: (trial.dead, *(-float(part) for part in trial.weight(by)))))


def ranked_effects(effects: Sequence[Effect], by: By) -> tuple[Effect, ...]:
    """Largest effect first, equal ones in order of name."""

    def key(effect: Effect) -> tuple[object, ...]:
        first, second, changes = effect.best.weight(by)
        return not changes, -first, -second, effect.option

    return tuple(sorted(effects, key=key))
