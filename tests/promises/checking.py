"""Random programs, each of them held against the model."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, seed, settings

from optctx import attach
from tests.promises.answers import Answers
from tests.promises.drawing import THREADS, programs
from tests.promises.program import Program, described
from tests.promises.running import Inside, verdict
from tests.support.examples import UNTIMED


def agree_with_the_model(answers: Answers, inside: Inside, number: int | None = None, **chosen: Any) -> None:
    """Attach, draw programs, and run them.

    `number`: the seed; None leaves it to Hypothesis. `chosen`: settings of Hypothesis. Raises AssertionError
    for one that the model does not agree with: the last one found, which is the smallest.
    """
    attach()
    everything = {**UNTIMED, "suppress_health_check": list(HealthCheck), **chosen}

    @settings(**everything, print_blob=number is None, report_multiple_bugs=False)
    @given(programs(tuple(inside)))
    def agrees(program: Program) -> None:
        words = verdict(program, THREADS, answers, inside)
        assert words == "", f"{words}\n{described(program)}"

    (agrees if number is None else seed(number)(agrees))()
