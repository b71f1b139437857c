"""`rank`: compiles once to see what LLVM reads, then once for each value that may change the output."""

from __future__ import annotations

import contextlib
import fnmatch
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from itertools import zip_longest

from optctx import Option, OptionContext, Read, registry
from optctx.compiling import Image, Job
from optctx.compiling.facts import INTEGER_RANGES, Value, resolve, text
from optctx.errors import EndedEarlyError, Interrupted, OptctxError
from optctx.lab.experiment import Experiment, Options, make_plan
from optctx.lab.outcome import Answer, Limits, trial_of
from optctx.lab.space import parse_space
from optctx.lab.tables import ends_of
from optctx.lab.trial import Goal, Trial, goal_named
from optctx.wording import counted

_MOST_LISTED = 10_000  # values of a range
_MANY = 1024  # the least number that counts as large; a power of two, as numbers of vector lanes must be
_FACTOR = 16  # a number this many times its base counts as large
_GLOB = "*?["


@dataclass(frozen=True)
class NotTried:
    """An option that was read or asked for, but not tried."""

    option: str
    type: str
    reason: str


@dataclass(frozen=True)
class Candidate:
    """An option to try. `values`: their texts, and what each sets; the first `wanted` of them are tried, and
    of the others the next one if those before give no output, or are `likely` to matter and change nothing.
    """

    read: Read
    type: str
    values: Mapping[str, Mapping[str, str]]
    wanted: int
    likely: bool


@dataclass(frozen=True)
class Effect:
    """An option that was tried. `trials`: largest effect first, those without output last."""

    option: str
    type: str
    base: str
    functions: tuple[str, ...]  # the LLVM functions that read it, demangled
    trials: tuple[Trial, ...]
    changes: bool  # whether any of the values changes the output

    @property
    def best(self) -> Trial:
        """The trial with the largest effect."""
        return self.trials[0]

    @property
    def value(self) -> str:
        """The value of that trial."""
        return self.best.options[self.option]


@dataclass(frozen=True)
class Ranking:
    """The results of `rank`. `effects`: every option that was tried, largest effect first.

    `ended`: why it ended before every value was tried, such as "after 100 compilations"; "" if it did not.
    `left`: the values of which nothing is known then; otherwise 0.
    """

    goal: Goal
    base: Trial
    read: int  # options that LLVM read
    effects: tuple[Effect, ...]
    not_tried: tuple[NotTried, ...]
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
        return _change(trial, self.base, name)

    def summary(self) -> list[str]:
        """Lines with the counts of options and trials, and with how it ended."""
        options = (
            f"{self.read} read, {len(self.effects)} tried, "
            f"{counted(len(self.changing), 'changes', 'change')} the output, "
            f"{len(self.not_tried)} not tried"
        )
        values = [counted(len(self.trials), "value"), *ends_of(self.trials)]
        lines = [f"{options}; {', '.join(values)}"]
        if self.ended:
            lines.append(f"ended {self.ended}: nothing is known of {counted(self.left, 'value')}")
        return lines


def rank(
    job: Job,
    *,
    only: Sequence[str] = (),
    values: Sequence[str] = (),
    by: str = "size",
    trials: int | None = None,
    seconds: float | None = None,
    limits: Limits = Limits(),  # noqa: B008  frozen
    progress: Callable[[int], None] = lambda total: None,
) -> Ranking:
    """Find which of the options that LLVM reads for `job` change the output when they are changed.

    The base is `job` with the values that the calling thread sees now. Each trial changes one option, within
    its type: a bool to its other value, an enum to another choice, a number to one far from it. If LLVM
    crashes or hangs with that, another value is tried. Options that often matter come first.

    The trials are compiled on threads of a worker process, as in `sweep`, in an empty folder that is removed
    at the end. A trial that crashes, never ends or takes all memory is part of the ranking, and affects
    nothing else. Nothing is compiled in this process.

    Args:
        job: What to compile. Its `options` and `emit` are ignored.
        only: Names or globs of the options to try, by default all that LLVM reads.
        values: Values to try instead, all of them, such as "unroll-count=1..4". These options are tried even
            if `only` does not name them.
        by: What effects are ranked by: "size", "instructions" or "compile-time".
        trials: The most compilations of this run.
        seconds: The most seconds of this run. No compilation takes longer, the first ones neither; what runs
            at the end is finished.
        limits: What compilations may take, and how many run at once.
        progress: Called with the number of values each time that one more is known.

    Raises:
        OptctxError: LLVM refuses the module, the pipeline or the target; a pattern matches no option; there
            is nothing to try; or the compilations cannot be trusted, because the base comes out otherwise
            after the trials than before.
        UnknownOptionError: A name is not that of an option.
        OptionValueError: A process-wide value has no text form.
        Interrupted: Ctrl-C while trials run, a KeyboardInterrupt. Its `partial` is the ranking so far.
        EndedEarlyError: The helper process is killed; also with a `partial`.
    """
    began, goal, image = time.monotonic(), goal_named(by), job.image
    given = _given_values(values, image)
    plan = make_plan(job, replace(limits, most=seconds))
    with (
        tempfile.TemporaryDirectory(prefix="optctx-", ignore_cleanup_errors=True) as folder,
        Experiment(replace(plan, directory=folder)) as experiment,
    ):
        base = trial_of(experiment.compile_base(), {}, goal)
        if base.state != "ok":
            raise OptctxError(f"cannot compile the base: {base.error}")
        reads = {each.name: each for each in experiment.recorded().read}
        chosen = _choose(reads, image, only=only, values=given)
        deadline = None if seconds is None else began + seconds
        run = _Rank(goal, *chosen, len(reads), experiment, base, trials, deadline)
        try:
            run.go(progress)
        except KeyboardInterrupt:
            raise Interrupted(run.ranking("because it was interrupted")) from None
        except EndedEarlyError as error:
            error.partial = run.ranking("because it could not go on")
            raise
        return run.ranking(run.ended)


@dataclass
class _Rank:
    goal: Goal
    candidates: list[Candidate]
    not_tried: list[NotTried]
    read: int
    experiment: Experiment
    base: Trial
    most: int | None
    deadline: float | None
    asked: list[tuple[Candidate, str]] = field(default_factory=list)  # values, by the number of their trial
    ended: str = ""

    def __post_init__(self) -> None:
        """Begin with the first value of every option, then the second of those that have more, ..."""
        self.known: dict[str, list[Trial]] = {each.read.name: [] for each in self.candidates}
        turns = zip_longest(
            *([(each, value) for value in [*each.values][: each.wanted]] for each in self.candidates)
        )
        self.waiting = deque(each for turn in turns for each in turn if each is not None)
        # Those that come if the ones before say too little.
        self.spare = {each.read.name: deque([*each.values][each.wanted :]) for each in self.candidates}

    def go(self, progress: Callable[[int], None]) -> None:
        """Compile until the effect of every value is known, or a limit is reached."""
        for trial in self.experiment.all(self._more, self._made):
            candidate, _ = self.asked[trial.number]
            known, spare = self.known[candidate.read.name], self.spare[candidate.read.name]
            known.append(trial)
            silent = (t.state != "ok" or (candidate.likely and not changes(t, self.base)) for t in known)
            if spare and all(silent):
                self.waiting.append((candidate, spare.popleft()))
            progress(len(self.asked) + len(self.waiting))
        answer = self.experiment.compile_base()
        again = trial_of(answer, {}, self.goal)
        if again.state != "ok" or changes(again, self.base):
            raise OptctxError(
                "cannot trust the trials: after them the base came out otherwise "
                f"({answer.error or 'another output'}); try again, with less memory or fewer jobs at once"
            )

    def _more(self, count: int) -> list[tuple[int, Options]]:
        found: list[tuple[int, Options]] = []
        while self.waiting and len(found) < count and not self._is_over():
            candidate, value = self.waiting.popleft()
            found.append((len(self.asked), candidate.values[value]))
            self.asked.append((candidate, value))
        return found

    def _is_over(self) -> bool:
        if self.most is not None and len(self.asked) >= self.most:
            self.ended = f"after {counted(self.most, 'compilation')}"
        elif self.deadline is not None and time.monotonic() >= self.deadline:
            self.ended = "because the time was over"
        return bool(self.ended)

    def _made(self, answer: Answer) -> Trial:
        candidate, value = self.asked[answer.number]
        return trial_of(answer, {candidate.read.name: value}, self.goal)

    def ranking(self, ended: str) -> Ranking:
        """The results so far: the largest effect first, equal ones in order of name."""
        effects = []
        for each in self.candidates:
            read = each.read
            if own := sorted(self.known[read.name], key=lambda trial: (self._weight(trial), trial.number)):
                changing = any(changes(trial, self.base) for trial in own)
                named = read.name, each.type, text(read.values[0]), read.functions
                effects.append(Effect(*named, trials=tuple(own), changes=changing))
        effects.sort(key=lambda each: (not each.changes, *self._weight(each.best), each.option))
        left = len(self.waiting) + len(self.asked) - sum(map(len, self.known.values()))
        found = tuple(effects), tuple(self.not_tried)
        return Ranking(self.goal, self.base, self.read, *found, ended, left)

    def _weight(self, trial: Trial) -> tuple[object, ...]:
        """A sort key, less for a larger effect: by the goal, then by other figures, then by any change."""
        names = dict.fromkeys((self.goal.name, "size", "instructions"))
        effects = (-abs(_change(trial, self.base, name)) for name in names)
        return trial.state != "ok", *effects, not changes(trial, self.base)


def changes(trial: Trial, base: Trial) -> bool:
    """Whether a value gives another object, or another number of instructions."""
    names = ("digest", "instructions")
    return trial.state == "ok" and any(trial.attributes[n] != base.attributes[n] for n in names)


def _change(trial: Trial, base: Trial, name: str) -> float:
    here, there = (each.attributes.get(name, each.figure) for each in (trial, base))
    return 0.0 if here is None or there is None else (here - there) / (there or 1)


# What is tried among the options that were read


def _given_values(values: Sequence[str], image: Image | None) -> dict[str, list[str]]:
    """Option -> the values to try. Raises OptctxError for what cannot be read or listed, or LLVM refuses."""
    dimensions = parse_space(values, image).dimensions
    for each in dimensions:
        if len(each.values.each) > _MOST_LISTED:
            raise OptctxError(
                f"cannot try {each.values} for {each.name!r}: expected at most {_MOST_LISTED:,} values; give "
                "fewer"
            )
    return {resolve(each.name, image): [*map(str, each.values.each)] for each in dimensions}


def _choose(
    reads: Mapping[str, Read],
    image: Image | None,
    *,
    only: Sequence[str],
    values: Mapping[str, Sequence[str]],
) -> tuple[list[Candidate], list[NotTried]]:
    """Choose options among `reads` by patterns, each with values that LLVM's parsers accept.

    Those that changed the output of other files come first. Raises OptctxError for a pattern of `only` that
    matches no option at all.
    """
    options = registry(image)
    named, matched = dict.fromkeys(values), set[str]()
    for pattern in (each.lstrip("-") for each in only):
        if not any(character in pattern for character in _GLOB):
            named[resolve(pattern, image)] = None
        elif found := fnmatch.filter(options, pattern):
            matched.update(found)
        else:
            raise OptctxError(f"no option matches {pattern!r}; `optctx options` shows them all")
    not_tried = [_unread(options[name]) for name in named if name not in reads]
    names = (resources.files("optctx.lab") / "likely.txt").read_text().split()
    likely = {name: place for place, name in enumerate(names)}
    candidates = []
    for name, read in reads.items():
        if only and name not in named and name not in matched:
            continue
        option = options[name]
        given, reason = _values(option, read, values.get(name))
        planned: dict[str, Mapping[str, str]] = {}
        for value in given:
            own = _settings(option, value)
            with contextlib.suppress(OptctxError):
                OptionContext(own, image=image)
                planned[_text(value)] = own
        if planned:
            count = len(planned) if name in values else 1
            candidates.append(Candidate(read, option.type, planned, count, name in likely))
        else:
            not_tried.append(NotTried(name, option.type, reason or "LLVM takes none of the values"))
    candidates.sort(key=lambda each: likely.get(each.read.name, len(likely)))
    not_tried.sort(key=lambda each: (each.reason, each.option))
    return candidates, not_tried


def _unread(option: Option) -> NotTried:
    unseen = option.scope == "process"
    why = "it cannot be scoped, so its reads are not seen" if unseen else "LLVM did not read it"
    return NotTried(option.name, option.type, why)


def _values(option: Option, read: Read, given: Sequence[str] | None) -> tuple[list[Value], str]:
    """(values to try, the reason if there are none)."""
    if given is not None:
        return [*given], ""
    if len(read.values) != 1:
        return [], "LLVM read several values of it"
    if _opens_windows(option):
        return [], "it opens windows"
    found = values_within_type(option, read.value)
    if found:
        return found, ""
    choice = option.type in ("enum", "bits")
    return [], "there is no other choice" if choice else f"no values can be guessed for type {option.type}"


def _opens_windows(option: Option) -> bool:
    """Whether LLVM draws graphs and starts a program to show them, such as -view-isel-dags."""
    parts = option.name.split("-")
    return option.type in ("bool", "enum") and any(part.startswith("view") for part in parts)


def _settings(option: Option, value: Value) -> dict[str, str]:
    """What a context with one value sets."""
    if isinstance(value, str) and value in (option.name, *option.aliases):
        return {value: "true"}  # a literal choice, such as -regbankselect-fast
    return {option.name: _text(value)}


def _text(value: Value) -> str:
    return value if isinstance(value, str) else text(value)


def values_within_type(option: Option, base: Value) -> list[Value]:
    """The values to try for an option whose value is `base`, the most telling first, without `base` itself.

    They are the other value of a bool, every other choice of an enum, or a few numbers on both sides. Empty
    for types whose values cannot be guessed.
    """
    kind = option.type
    if kind == "bool":
        return [not base]
    if kind == "boolOrDefault":
        return [value for value in (True, False) if value is not base]
    if kind == "enum":
        return [choice for choice in option.choices if choice != base]
    if kind == "bits":
        return [[choice] for choice in option.choices if [choice] != base]
    if kind in INTEGER_RANGES and isinstance(base, int):
        least, most = INTEGER_RANGES[kind]
        return _others((value for value in _integers(base, least < 0) if least <= value <= most), base)
    if kind in ("float", "double") and isinstance(base, float):
        near = [2.0, 0.5, 1.0] if base == 0 else [0.0, 1.0, base / 2, base * 2]
        return _others([*near, max(float(_MANY), abs(base) * _FACTOR)], base)
    return []


def _integers(base: int, signed: bool) -> list[int]:
    """0 or, if the base is 0 or 1, 2: they change more than others do (design/rank.md). Then more of both
    sides: the half and the double, and the ends of the useful range.
    """
    near = [2, 4, 0, 1] if base in (0, 1) else [0, 1, base // 2, base * 2]
    large = max(_MANY, abs(base) * _FACTOR)
    return [*near, large, *([-large] if signed else [])]


def _others(values: Iterable[int | float], base: int | float) -> list[Value]:
    return [value for value in dict.fromkeys(values) if value != base]
