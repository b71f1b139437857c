"""A space that is made from what a compilation reads, and what of that changes its output."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Collection, Sequence

from optctx import Option, registry
from optctx.compiling import Job
from optctx.errors import Interrupted, OptctxError
from optctx.facts import trusted
from optctx.lab.rank import Effect, rank
from optctx.lab.space import DEFAULT, Choices, Dimension, Space
from optctx.lab.sweep.plan import Answer
from optctx.lab.tuning.evaluate import Candidate, make_setup
from optctx.lab.tuning.evaluators import LocalEvaluator
from optctx.lab.tuning.measured import Found, Measured
from optctx.lab.tuning.objectives import Objective, Size
from optctx.lab.tuning.search import Limits

__all__ = ["propose"]

_NUMBERS = ("int", "uint", "int64", "uint64")
_POWERS = tuple(str(1 << place) for place in range(11))  # 1 to 1024
_TRUSTED = ("tuning",)
_RANKED = ("size", "instructions")
_BLOCK = 8  # candidates that are measured together


def propose(
    job: Job,
    count: int = 8,
    *,
    objective: Objective = Size(),  # noqa: B008  frozen
    exclude: Collection[str] = (),
    trials: int | None = None,
    limits: Limits = Limits(),  # noqa: B008  frozen
    progress: Callable[[int], None] = lambda total: None,
) -> list[Dimension]:
    """The tuning options that change an objective of a compilation most, with values by their types.

    A `rank` tries each option that the compilation reads, in at most `trials` compilations. Of those that
    change the output, and do no more than change the code (`Option.trust`), the ones with the largest effects
    are proposed: both values of
    a bool, every choice of an enum, powers of two and what was tried for a number; values that crashed or did
    not end are left out. Every dimension has "default" as well. For an objective that runs the code, twice
    `count` are taken by size, each of their values is run, and those with the best figures stay.

    Raises OptctxError as `rank` does, and if no option changes the output.
    """
    by = objective.name if objective.name in _RANKED else "size"
    try:
        report = rank(
            job,
            by=by,
            exclude=tuple(exclude),
            trials=trials,
            threads=limits.jobs,
            timeout=limits.timeout,
            memory=limits.memory,
            progress=progress,
        )
    except Interrupted:  # a ranking of some options proposes nothing
        raise KeyboardInterrupt from None
    measured = isinstance(objective, Measured)
    dimensions: list[Dimension] = []
    for effect in report.changing:
        option = registry()[effect.option]
        if len(dimensions) == (2 * count if measured else count):
            break
        if option.trust not in _TRUSTED:
            continue
        texts = [text for text in _texts(option, effect) if trusted(option.name, text)]
        if texts:
            dimensions.append(Dimension(option.name, Choices((DEFAULT, *dict.fromkeys(texts)))))
    if not dimensions:
        raise OptctxError(
            "there is nothing to propose: no option that this compilation reads changes its output"
        )
    if isinstance(objective, Measured) and len(dimensions) > 1:
        return _fastest(job, dimensions, objective, limits)[:count]
    return dimensions


def _fastest(
    job: Job, dimensions: Sequence[Dimension], objective: Measured, limits: Limits
) -> list[Dimension]:
    """The dimensions by the best figure that one of their values gives alone, the best first."""
    space = Space.of(dimensions)
    setup = make_setup(
        job,
        space,
        timeout=limits.timeout,
        memory=limits.memory,
        emit="object",
        noted=False,
        repeats=1,
    )
    points = [(each.name, text) for each in dimensions for text in each.values.ends if text != DEFAULT]
    answers: dict[int, Answer] = {}
    with LocalEvaluator(setup, limits.jobs or os.cpu_count() or 1) as evaluator:
        base = evaluator.base()
        for number, point in enumerate(points):
            evaluator.submit(Candidate(number, (point,)))
        while len(answers) < len(points):
            answers.update((answer.number, answer) for answer in evaluator.answers())
    objects = {each.digest: each.code for each in answers.values() if each.state == "ok"}
    objects.pop(base.digest, None)
    found: dict[str, Found] = {}
    with objective.session(base.code) as measure:
        left = list(objects.items())
        while left:
            found |= measure(dict(left[:_BLOCK]))
            left = left[_BLOCK:]
    sign = 1 if objective.direction == "minimise" else -1
    best = dict.fromkeys(space.names, math.inf)
    for number, (name, _) in enumerate(points):
        result = found.get(answers[number].digest)
        if result is not None and result.state == "ok":
            best[name] = min(best[name], sign * result.figure)
    return sorted(dimensions, key=lambda each: best[each.name])


def _texts(option: Option, effect: Effect) -> Sequence[str]:
    if option.type in ("bool", "boolOrDefault"):
        return ("true", "false")
    dead = {trial.options[effect.option] for trial in effect.trials if trial.state != "ok"}
    tried = [trial.options[effect.option] for trial in effect.trials]
    more = option.choices if option.type == "enum" else _POWERS if option.type in _NUMBERS else ()
    return [text for text in (*more, *tried) if text not in dead]
