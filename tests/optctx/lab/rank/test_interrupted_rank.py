"""An interrupted `rank` and `sweep`: what has ended is told as such, and nothing is left behind."""

from __future__ import annotations

import contextlib
import os
import pathlib
import signal
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from optctx import Interrupted
from optctx.compiling import Job
from optctx.lab.rank import Ranking, rank
from optctx.lab.sweep import Limits
from optctx.lab.trials import read_trials
from tests.support.endless import LIST, SCALED, endless, reached
from tests.support.interrupted_commands import STATUS, interrupted, moments
from tests.support.ir_texts import SCALE, X86

pytestmark = pytest.mark.redirected

JOB = Job(SCALE, triple=X86)
VALUES = "force-vector-width=1,2"


def test_ctrl_c_hands_over_the_trials_that_have_ended() -> None:
    """From Python. A trial that runs is no failed one."""
    steps: list[int] = []

    def step(total: int) -> None:
        steps.append(total)
        if len(steps) == 2:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(60)  # which the signal ends

    values, limits = [VALUES, "unroll-count=2,4"], Limits(1)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt) as caught:
            rank(JOB, only=["unroll-count"], values=values, screen=False, limits=limits, progress=step)
    finally:
        signal.signal(signal.SIGINT, before)
    assert isinstance(caught.value, Interrupted)
    ranking = caught.value.partial
    assert isinstance(ranking, Ranking)
    assert (len(ranking.trials), ranking.left) == (2, 2)
    assert ranking.summary()[-1] == "ended because it was interrupted: nothing is known of 2 values"


def words_of(command: str, folder: pathlib.Path) -> list[str]:
    """Four values, of which the last never ends."""
    (folder / "scale.ll").write_text(SCALE)
    words = [str(folder / "scale.ll"), "--passes", SCALED, "--timeout", "100", "-j", "1", "--try", VALUES]
    words += ["--try", f"{LIST}=/dev/null,{endless(folder)}"]
    return [*words, "--only", LIST, "--values", "each"] if command == "rank" else words


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.long)])
def test_the_command_prints_them_and_leaves_nothing(number: int, tmp_path: pathlib.Path) -> None:
    words = ["rank", *words_of("rank", tmp_path), "--format", "json", "--keep", str(tmp_path / "kept")]
    with contextlib.ExitStack() as stack:
        last = reached(str(tmp_path / "pipe"))
        ended = interrupted(words, tmp_path, lambda _: stack.enter_context(last), number, times=2)
    assert ended.status == STATUS[number]
    assert ended.err.splitlines()[-1] == (
        f"optctx: interrupted after 3 of 4 values; {tmp_path / 'kept'} keeps them: go on with --resume"
    )
    assert (ended.data["counts"]["values"], ended.data["counts"]["left"]) == (3, 1)
    values = {
        each["option"]: sorted(trial["options"][each["option"]] for trial in each["trials"])
        for each in ended.data["options"]
    }
    assert values == {"force-vector-width": ["1", "2"], LIST: ["/dev/null"]}
    assert len(read_trials(str(tmp_path / "kept")).trials) == 3


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
        number, rows = list(STATUS)[place % 3], folder / "kept"
        words = [command, *words_of(command, folder), "--keep", str(rows)]
        ended = interrupted(words, folder, lambda _: time.sleep(seconds), number)
        *before, last = ended.err.splitlines()
        assert ended.status == STATUS[number], (seconds, ended.err)
        assert all(" values: about " in line or "values: " in line for line in before), ended.err
        assert last.startswith("optctx: interrupted")
        begun = rows.exists() and rows.stat().st_size
        assert "go on with --resume" in last or not (begun and read_trials(str(rows)).trials)

    with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
        list(pool.map(at, range(places), moments(places, 1.2)))
