"""An interrupted `rank` and `sweep`: what has ended is told as such, and nothing is left behind."""

from __future__ import annotations

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
from tests.support.interrupted_commands import ENDLESS, STATUS, interrupted, moments, works
from tests.support.ir_texts import SCALE, X86
from tests.support.processes import wait_for

pytestmark = pytest.mark.redirected

JOB = Job(SCALE, triple=X86)
# Of the two values of the second option, the last never ends.
VALUES = ["force-vector-width=1,2", "misched-limit=5,0"]
WORDS = ["--only", "force-vector-width", "-j", "1", "--timeout", "100", "--values", "each"]
WORDS += [word for setting in VALUES for word in ("--try", setting)]


@pytest.fixture
def scale(tmp_path: pathlib.Path) -> str:
    (tmp_path / "scale.ll").write_text(SCALE)
    return str(tmp_path / "scale.ll")


def test_ctrl_c_hands_over_the_trials_that_have_ended() -> None:
    """From Python. A trial that runs is no failed one."""
    whole = rank(JOB, only=["force-vector-width"], values=VALUES[:1])
    assert (whole.left, len(whole.trials)) == (0, 2)

    def step(total: int) -> None:
        if len(steps := [*reached, total]) == 2:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(1)
        reached[:] = steps

    reached: list[int] = []
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt) as caught:
            rank(
                JOB, only=["force-vector-width"], values=VALUES, screen=False, limits=Limits(1), progress=step
            )
    finally:
        signal.signal(signal.SIGINT, before)
    assert isinstance(caught.value, Interrupted)
    ranking = caught.value.partial
    assert isinstance(ranking, Ranking)
    assert (len(ranking.trials), ranking.left) == (2, 2)
    assert ranking.summary()[-1] == "ended because it was interrupted: nothing is known of 2 values"


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.long)])
def test_the_command_prints_them_and_leaves_nothing(number: int, scale: str, tmp_path: pathlib.Path) -> None:
    words = ["rank", scale, *WORDS, "--format", "json", "--keep", str(tmp_path / "kept")]
    ended = interrupted(
        words, tmp_path, lambda process: wait_for(lambda: works(process.pid)), number, times=2
    )
    assert ended.status == STATUS[number]
    assert ended.err.splitlines()[-1] == (
        f"optctx: interrupted after 3 of 4 values; {tmp_path / 'kept'} keeps them: go on with --resume"
    )
    assert (ended.data["counts"]["values"], ended.data["counts"]["left"]) == (3, 1)
    values = {
        each["option"]: sorted(trial["options"][each["option"]] for trial in each["trials"])
        for each in ended.data["options"]
    }
    assert values == {"force-vector-width": ["1", "2"], "misched-limit": ["5"]}
    assert sorted(read_trials(str(tmp_path / "kept")).trials) == [0, 1, 2]


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
        number, rows = list(STATUS)[place % 3], folder / "kept"
        grid = [word.replace("--set", "--try") for word in ENDLESS]
        words = [*(grid if command == "sweep" else WORDS), "--keep", str(rows)]
        words = [command, str(folder / "scale.ll"), *words]
        ended = interrupted(words, folder, lambda _: time.sleep(seconds), number)
        *before, last = ended.err.splitlines()
        assert ended.status == STATUS[number], (seconds, ended.err)
        assert all(" values: about " in line or "values: " in line for line in before), ended.err
        assert last.startswith("optctx: interrupted")
        begun = rows.exists() and rows.stat().st_size
        assert "go on with --resume" in last or not (begun and read_trials(str(rows)).trials)

    with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
        list(pool.map(at, range(places), moments(places, 1.2)))
