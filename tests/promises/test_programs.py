"""Random programs on several threads, held against a model in plain Python and against LLVM itself."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from hypothesis import Phase, settings

from tests.promises.answers import known_answers
from tests.promises.checking import agree_with_the_model
from tests.support.alone import alone_with
from tests.support.processes import in_child


@pytest.mark.hypothesis  # `make test-long` draws others
def test_every_thread_sees_what_the_model_says() -> None:
    given_here = settings()
    every_run_differs = not given_here.derandomize
    run_programs(
        max_examples=given_here.max_examples if every_run_differs else 12,
        derandomize=not every_run_differs,
        # What fails may take ten seconds each time: only who looks for new failures has them made small.
        phases=(Phase.generate, Phase.shrink) if every_run_differs else (Phase.generate,),
    )


@alone_with(seconds=36_000)  # each program has a limit of its own
def run_programs(**chosen: Any) -> None:
    """In a child of a process that is not attached, and knows what LLVM gives."""
    in_child(partial(agree_with_the_model, known_answers(), {}, **chosen))
