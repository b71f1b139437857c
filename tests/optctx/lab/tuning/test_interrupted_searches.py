"""What an interrupted search says: how far it came, what is best so far, how to go on, and nothing else."""

from __future__ import annotations

import itertools
import json
import pathlib
import re
from typing import Any

import pytest

from optctx import OptionContext
from optctx.lab.command.main import main
from optctx.lab.tuning.assess import Assessor
from optctx.lab.tuning.tuning import _Run
from tests.support.tuning_cases import HARNESS, LOOSE, SUM

UNTRUE = re.compile(r"no gain|every point|ended", re.IGNORECASE)


@pytest.fixture
def timed(tmp_path: pathlib.Path) -> list[str]:
    """A search by run time over four points. Vectors are faster than a base that has none."""
    (tmp_path / "sum.ll").write_text(SUM)
    (tmp_path / "sum_harness.py").write_text(f"{HARNESS}{LOOSE}seconds = 0.1\n")
    words = ["tune", str(tmp_path / "sum.ll"), "--by", "time"]
    return [*words, "--try", "force-vector-width=1,4", "--try", "unroll-count=1,2"]


def interrupted(*arguments: object) -> None:
    raise KeyboardInterrupt


def after(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a search interrupted when so many trials have ended."""
    ended, tell = itertools.count(1), _Run._tell

    def interrupted(self: _Run, *given: Any) -> None:
        tell(self, *given)
        if next(ended) == count:
            raise KeyboardInterrupt

    monkeypatch.setattr(_Run, "_tell", interrupted)


def run(words: list[str], capfd: pytest.CaptureFixture[str]) -> tuple[str, str]:
    """What the interrupted command prints."""
    with OptionContext(force_vector_width=1, unroll_count=1, force_vector_interleave=1):
        assert main(words) == 130
    return capfd.readouterr()


@pytest.mark.usefixtures("few_rounds")
def test_text_and_json_say_how_far_a_search_by_run_time_came(
    timed: list[str],
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    study = str(tmp_path / "night.journal")
    goes_on = f"they are in {study!r}: the same command goes on"
    words = [*timed, "--storage", study]
    # Before the first trial
    with monkeypatch.context() as patch:
        patch.setattr(_Run, "_ask", interrupted)
        out, err = run(words, capfd)
    assert err == f"optctx: interrupted after 0 of 4 trials; {goes_on}\n"
    assert out.splitlines()[-1] == "interrupted after 0 of 4 trials"
    assert not UNTRUE.search(out)
    # Between trials
    after(3, monkeypatch)
    out, err = run(words, capfd)
    assert err == f"optctx: interrupted after 3 of 4 trials; {goes_on}\n"
    assert not UNTRUE.search(out)
    best, last = out.splitlines()[-2:]
    assert re.fullmatch(
        r"best so far by time: -force-vector-width=\d -unroll-count=\d \(-\d+.\d%, not confirmed\)", best
    )
    assert last == "interrupted after 3 of 4 trials"
    # Before the second check
    monkeypatch.setattr(Assessor, "confirm", interrupted)
    out, err = run([*words, "--trials", "3", "--format", "json"], capfd)
    assert err.splitlines()[-1].startswith("optctx: interrupted after 3 of 3 trials; ")
    data = json.loads(out)
    assert (data["ended"], data["finished"], data["total"], data["best"]) == ("interrupted", False, 3, None)
    assert len(data["trials"]) == 3
    figures = {each["number"]: each["figure"] for each in data["trials"]}
    assert data["best_so_far"] == min(figures, key=lambda number: figures[number])
