"""Random programs on several threads, held against a model in plain Python and against LLVM itself."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.promises.drawing import THREADS, programs
from tests.promises.program import described

ROOT = Path(__file__).parents[2]
# What fails may take ten seconds each time: only who looks for new failures has them made small.
LONG = not settings().derandomize
PHASES = (Phase.generate, Phase.shrink) if LONG else (Phase.generate,)
EXAMPLES = settings().max_examples if LONG else 20


def started(module: str, engine: str) -> subprocess.Popen[bytes]:
    path = os.pathsep.join([str(ROOT), *filter(None, sys.path)])
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-m", f"tests.promises.{module}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
        env={**os.environ, "OPTCTX_ENGINE": engine, "PYTHONPATH": path},
    )


@cache
def answers() -> bytes:
    """What LLVM gives, whatever the engine: of a process that is not attached."""
    process = started("answers", "thread")
    found, _ = process.communicate()
    assert process.returncode == 0
    return found


class Server:
    """Runs programs in children of a process that is attached under one engine."""

    def __init__(self, engine: str) -> None:
        self._turns = engine == "exclusive"
        self._process = started("server", engine)
        assert self._process.stdin is not None
        self._process.stdin.write(answers())
        self._process.stdin.flush()
        assert self._answer() == engine

    def verdict(self, program: Any) -> str:
        assert self._process.stdin is not None
        pickle.dump((program, self._turns, THREADS), self._process.stdin)
        self._process.stdin.flush()
        return str(self._answer())

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        return pickle.load(self._process.stdout)

    def end(self) -> None:
        self._process.communicate()
        assert self._process.returncode == 0


@pytest.fixture(scope="module", params=["thread", "exclusive"])
def engine(request: pytest.FixtureRequest) -> Iterator[tuple[str, Server]]:
    server = Server(request.param)
    yield request.param, server
    server.end()


@settings(
    max_examples=EXAMPLES, phases=PHASES, suppress_health_check=list(HealthCheck), report_multiple_bugs=False
)
@given(data=st.data())
def test_every_thread_sees_what_the_model_says(engine: tuple[str, Server], data: st.DataObject) -> None:
    name, server = engine
    program = data.draw(programs(name == "exclusive"))
    if words := server.verdict(program):
        raise AssertionError(f"{words}\n{described(program)}")
