"""An interrupted `compare`: it ends at once, with what it has found."""

from __future__ import annotations

import pathlib
import signal
import subprocess
import time

import pytest

from tests.support.interrupted_commands import STATUS, interrupted
from tests.support.ir_texts import SCALE
from tests.support.processes import of_session, wait_for

# Each takes minutes by itself.
LONG = ["--strategies", "thread", "process-cold", "--programs", "100000", "--seconds", "600"]
SOON = 20.0  # seconds: far less than a property takes, far more than a busy machine needs
PROPERTIES = ["--properties", "isolation", "nesting"]


def at_work(process: subprocess.Popen[str]) -> None:
    """Until programs run: the command, two processes that run programs, one that runs in them."""
    wait_for(lambda: len(of_session(process.pid)) >= 4)
    time.sleep(1)


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_while_programs_run(number: int, tmp_path: pathlib.Path) -> None:
    (tmp_path / "scale.ll").write_text(SCALE)
    began: list[float] = []

    def when(process: subprocess.Popen[str]) -> None:
        at_work(process)
        began.append(time.monotonic())

    words = ["compare", str(tmp_path / "scale.ll"), *LONG, *PROPERTIES]
    ended = interrupted(words, tmp_path, when, number, times=2, program="evidence.main")
    assert time.monotonic() - began[0] < SOON
    assert (ended.status, ended.err) == (STATUS[number], "optctx: interrupted after 0 of 6 results\n")
    assert ended.out.splitlines()[-3:] == [
        "thread: not known: isolation, nesting, figures",
        "process-cold: not known: isolation, nesting, figures",
        "interrupted after 0 of 6 results",
    ]


@pytest.mark.long
def test_while_figures_are_measured_verdicts_are_kept(tmp_path: pathlib.Path) -> None:
    (tmp_path / "scale.ll").write_text(SCALE)

    def measuring(process: subprocess.Popen[str]) -> None:
        def begun() -> bool:
            pids = [stat.split()[0] for stat in of_session(process.pid)]
            words = [pathlib.Path(f"/proc/{pid}/cmdline") for pid in pids]
            return any(b"strategies.figures" in path.read_bytes() for path in words if path.exists())

        wait_for(begun)

    words = ["compare", str(tmp_path / "scale.ll"), "--strategies", "thread", "--properties", "isolation"]
    words += ["--programs", "2", "--throughput-seconds", "600", "--format", "json"]
    ended = interrupted(words, tmp_path, measuring, program="evidence.main")
    assert (ended.status, ended.err) == (130, "optctx: interrupted after 1 of 2 results\n")
    assert ended.data["finished"] is False
    [thread] = ended.data["strategies"]
    assert thread["properties"]["isolation"]["holds"] is True
    assert (thread["figures"], thread["left"]) == (None, ["figures"])
