"""An interrupted `sensitivity` and `sweep`: what has ended is told as such, and nothing is left behind."""

from __future__ import annotations

import os
import pathlib
import signal
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from optctx import Interrupted
from optctx.fresh import Job
from optctx.lab.sensitivity import Limits, Report, sensitivity
from tests.support.interrupted_commands import ENDLESS, STATUS, interrupted, moments
from tests.support.ir_texts import SCALE, X86
from tests.support.processes import of_session, wait_for

pytestmark = pytest.mark.redirected

JOB = Job(SCALE, triple=X86)
# Of the two values of the second option, the last never ends.
VALUES = {"force-vector-width": ["1", "2"], "misched-limit": ["5", "0"]}
WORDS = ["--options", "force-vector-width", "--jobs", "1", "--timeout", "100"]
WORDS += [word for name, values in VALUES.items() for word in ("--try", f"{name}={','.join(values)}")]


@pytest.fixture
def scale(tmp_path: pathlib.Path) -> str:
    (tmp_path / "scale.ll").write_text(SCALE)
    return str(tmp_path / "scale.ll")


def test_ctrl_c_hands_over_the_trials_that_have_ended() -> None:
    """From Python. A trial that runs is no failed one."""
    widths = {"force-vector-width": VALUES["force-vector-width"]}
    whole = sensitivity(JOB, options=["force-vector-width"], values=widths)
    assert (whole.left, whole.trials) == (None, 2)
    steps: list[int] = []

    def step(total: int) -> None:
        steps.append(total)
        if len(steps) == 3:  # two have ended, and the third is about to
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(1)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt) as caught:
            sensitivity(
                JOB,
                options=["force-vector-width"],
                values=VALUES,
                limits=Limits(jobs=1, timeout=20),
                progress=step,
            )
    finally:
        signal.signal(signal.SIGINT, before)
    assert isinstance(caught.value, Interrupted)
    report = caught.value.partial
    assert isinstance(report, Report)
    assert report.effects == whole.effects
    assert report.left == steps[0] - 2 >= 2
    assert report.summary().endswith(f"; interrupted after 2 of {steps[0]} trials")


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.long)])
def test_the_command_prints_them_and_leaves_nothing(number: int, scale: str, tmp_path: pathlib.Path) -> None:
    words = ["rank", scale, *WORDS, "--format", "json"]
    ended = interrupted(
        words, tmp_path, lambda process: wait_for(lambda: endless(process.pid)), number, times=2
    )
    assert (ended.status, ended.err) == (STATUS[number], "optctx: interrupted after 3 of 4 trials\n")
    assert ended.data["finished"] is False
    assert (ended.data["counts"]["trials"], ended.data["counts"]["left"]) == (3, 1)
    values = {each["option"]: [trial["value"] for trial in each["trials"]] for each in ended.data["options"]}
    assert sorted(values["force-vector-width"]) == ["1", "2"]
    assert values["misched-limit"] == ["5"]


def endless(session: int) -> bool:
    """Whether a process of the session has worked for a second: the trial that never ends."""
    return any(
        int(stat.rpartition(")")[2].split()[11]) >= os.sysconf("SC_CLK_TCK")
        for stat in of_session(session)
        if int(stat.split()[0]) != session
    )


@pytest.mark.parametrize(
    ("command", "places"),
    [
        ("rank", 3),
        *(pytest.param(each, 9, marks=pytest.mark.long) for each in ("rank", "sweep")),
    ],
)
def test_a_signal_at_any_moment_leaves_nothing_and_is_one_line(
    command: str, places: int, tmp_path: pathlib.Path
) -> None:
    def at(place: int, seconds: float) -> None:
        folder = tmp_path / str(place)
        folder.mkdir()
        (folder / "scale.ll").write_text(SCALE)
        number, rows = list(STATUS)[place % 3], folder / "rows.csv"
        words = [*ENDLESS, "-o", str(rows)] if command == "sweep" else WORDS
        words = [command, str(folder / "scale.ll"), *words]
        ended = interrupted(words, folder, lambda _: time.sleep(seconds), number)
        assert (ended.status, ended.err.count("\n")) == (STATUS[number], 1), (seconds, ended.err)
        assert ended.err.startswith("optctx: interrupted")
        assert ("go on with --resume" in ended.err) == rows.exists()

    with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
        list(pool.map(at, range(places), moments(places, 1.2)))
