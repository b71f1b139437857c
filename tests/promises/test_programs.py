"""Random programs on several threads, held against a model in plain Python and against LLVM itself."""

from __future__ import annotations

import os
from functools import partial
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings

from optctx import attach, info
from tests.promises.answers import Answers, known_answers
from tests.promises.drawing import THREADS, programs
from tests.promises.program import described
from tests.promises.running import verdict
from tests.support.alone import alone
from tests.support.processes import in_child


def test_every_thread_sees_what_the_model_says() -> None:
    given_here = settings()
    every_run_differs = not given_here.derandomize
    run_programs(
        max_examples=given_here.max_examples if every_run_differs else 12,
        derandomize=not every_run_differs,
        # What fails may take ten seconds each time: only who looks for new failures has them made small.
        phases=(Phase.generate, Phase.shrink) if every_run_differs else (Phase.generate,),
    )


@alone(seconds=36_000)  # each program has a limit of its own
def run_programs(**chosen: Any) -> None:
    """Each engine in a child of a process that is not attached, and knows what LLVM gives."""
    chosen |= {"database": None, "deadline": None, "suppress_health_check": list(HealthCheck)}
    answers = known_answers()
    for engine in ("thread", "exclusive"):
        in_child(partial(agree_with_the_model, engine, answers, chosen))


def agree_with_the_model(engine: str, answers: Answers, chosen: dict[str, Any]) -> None:
    os.environ["OPTCTX_ENGINE"] = engine
    attach()
    assert info()["engine"] == engine
    turns = engine == "exclusive"

    @settings(**chosen, print_blob=True, report_multiple_bugs=False)
    @given(programs(turns))
    def agrees(program: Any) -> None:
        words = verdict(program, turns, THREADS, answers)
        assert words == "", f"{words}\n{described(program)}"

    agrees()
