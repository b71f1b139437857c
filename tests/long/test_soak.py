"""The soak: a short run of it finds nothing, and it finds what it is there for."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import Phase

from tests.promises.answers import known_answers
from tests.promises.checking import agree_with_the_model
from tests.promises.model import Sight
from tests.promises.program import Step
from tests.promises.running import Run
from tests.support.alone import alone_with
from tests.support.processes import python_process


def test_a_short_run_finds_nothing() -> None:
    """The tool still fits the package."""
    done = python_process("-m", "tests.long.soak", "--minutes", "0", "--seed", "7", "--programs", "2")
    assert (done.returncode, done.stdout, done.stderr) == (0, "2 programs, 0 found\n", "")


def wrong(run: Run, step: Step, inner: Sight, here: Sight) -> None:
    run.look(inner)


def crashes(run: Run, step: Step, inner: Sight, here: Sight) -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def hangs(run: Run, step: Step, inner: Sight, here: Sight) -> None:
    time.sleep(1000)


PLANTED: dict[Callable[[Run, Step, Sight, Sight], None], str] = {
    wrong: r"round \d: thread \d, inside: (LLVM's code|current\(\))",
    crashes: r"a process ended with -11: ",
    hangs: r"a process ended with -14: [^$]*test_soak.py\", line \d+ in hangs",
}


@alone_with(seconds=600, TESTS_SECONDS="100")  # to give up soon on what is planted
def find_what_is_planted() -> None:
    answers = known_answers()
    for fault, words in PLANTED.items():
        look = partial(agree_with_the_model, answers, {"planted": fault}, 1, phases=(Phase.generate,))
        with pytest.raises(AssertionError, match=words) as found:
            look()
        assert "way='planted'" in str(found.value)  # the program is shown


@pytest.mark.long
def test_what_goes_wrong_inside_a_scope_is_found_with_its_program() -> None:
    find_what_is_planted()
