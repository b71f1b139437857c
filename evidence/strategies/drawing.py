"""Draws programs, and makes one that breaks a property small."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from hypothesis import HealthCheck, Phase, find, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample

from evidence.strategies.program import BYSTANDER, Action, Program, Step
from evidence.strategies.properties import MISSPELT, Property, valid

_LONGEST = 6  # steps that are drawn


def smallest(
    property: Property,
    sets: Sequence[tuple[str, ...]],
    breaks: Callable[[Program], bool],
    most: int,
    seed: int,
) -> Program | None:
    """The smallest program found that breaks the property; None if none of at most `most` programs does.

    `sets`: options to draw from, simple ones first. `breaks` may be asked more often while a program shrinks.
    """
    own = settings(
        max_examples=most,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    try:
        return find(_programs(property, sets), breaks, settings=own, random=Random(seed))
    except NoSuchExample:
        return None


def _programs(property: Property, sets: Sequence[tuple[str, ...]]) -> st.SearchStrategy[Program]:
    """Programs in which every scope is entered before it is left."""
    steps = st.lists(_steps(property, sets), min_size=1, max_size=_LONGEST)
    return steps.map(lambda drawn: valid(property, drawn))


def _steps(property: Property, sets: Sequence[tuple[str, ...]]) -> st.SearchStrategy[Step]:
    options: dict[Action, list[tuple[str, ...]]] = {
        "enter": list(sets),
        "set": list(sets),
        "tool": list(sets),
        "compile": [(), MISSPELT] if property.name == "misspelling" else [(), *sets],
    }
    steps = [
        st.builds(Step, st.just(thread), st.just(action), st.sampled_from(options.get(action, [()])))
        for action in property.actions
        for thread in ((BYSTANDER,) if action in ("plain", "set") else range(property.threads))
    ]
    return st.one_of(steps)
