"""What an interrupted search says: how far it came, what is best so far, how to go on, and nothing else."""

from __future__ import annotations

import itertools
import json
import pathlib
import re
from collections.abc import Mapping
from typing import Any

import pytest

from optctx.lab.command.main import main
from optctx.lab.trial import Trial
from optctx.lab.tuning import RunTime
from optctx.lab.tuning.assess import Assessor
from optctx.lab.tuning.objectives import found
from optctx.lab.tuning.tuning import _Run
from tests.support.tuning_cases import HARNESS, SUM

UNTRUE = re.compile(r"no gain|every point|ended", re.IGNORECASE)


def interrupted(*arguments: object) -> None:
    raise KeyboardInterrupt


def measured(self: RunTime, base: bytes, candidates: Mapping[str, bytes]) -> dict[str, Trial]:
    """What is not the base's code is faster."""
    ratio = {"middle": 2.0, "low": 1.9, "high": 2.1}
    times = {"seconds": ratio, "ratio": ratio, "noise": {**ratio, "high": 1.0}}
    return {
        name: found("ok", 1.0) if code == base else found("ok", 0.5, time=times)
        for name, code in candidates.items()
    }


def test_text_and_json_say_how_far_a_search_by_run_time_came(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(RunTime, "measure", measured)
    (tmp_path / "sum.ll").write_text(SUM)
    (tmp_path / "sum_harness.py").write_text(HARNESS)
    study = str(tmp_path / "night.journal")
    words = ["tune", str(tmp_path / "sum.ll"), "--by", "time", "--storage", study]
    words += ["--try", "force-vector-width=1,4", "--try", "unroll-count=1,2"]

    def run(*more: str) -> tuple[str, str]:
        assert main([*words, *more]) == 130
        return capfd.readouterr()

    # Before the first trial
    with monkeypatch.context() as patch:
        patch.setattr(_Run, "_ask", interrupted)
        out, err = run()
    goes_on = f"they are in {study!r}: the same command goes on"
    assert err == f"optctx: interrupted after 0 of 4 trials; {goes_on}\n"
    assert out.splitlines()[-1] == "interrupted after 0 of 4 trials"
    assert not UNTRUE.search(out)
    # Between trials
    ended, tell = itertools.count(1), _Run._tell

    def third(self: _Run, *given: Any) -> None:
        tell(self, *given)
        if next(ended) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(_Run, "_tell", third)
    out, err = run()
    assert err == f"optctx: interrupted after 3 of 4 trials; {goes_on}\n"
    assert not UNTRUE.search(out)
    best, last = out.splitlines()[-2:]
    assert re.fullmatch(
        r"best so far by time: -force-vector-width=\d -unroll-count=\d \(-50.0%, not confirmed\)", best
    )
    assert last == "interrupted after 3 of 4 trials"
    # Before the second check
    monkeypatch.setattr(Assessor, "confirm", interrupted)
    out, err = run("--trials", "3", "--format", "json")
    assert err.startswith("optctx: interrupted after 3 of 3 trials; ")
    data = json.loads(out)
    assert (data["ended"], data["finished"], data["total"], data["best"]) == ("interrupted", False, 3, None)
    assert len(data["trials"]) == 3
    figures = {each["number"]: each["figure"] for each in data["trials"]}
    assert data["best_so_far"] == min(figures, key=lambda number: figures[number])
