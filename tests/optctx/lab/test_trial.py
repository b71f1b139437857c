"""The file of trials: a kill, a full disk or another process spoils nothing; another file stays as it is."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import resource
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from optctx.children.death import ENDS
from optctx.errors import OptctxError
from optctx.lab.trial import Trial, Trials, open_trials
from tests.support.kept_trials import kept_trials
from tests.support.processes import in_child

PARTS = {"format": 1, "experiment": "sweep", "space": ["a=1..3"], "input": {"a.ll": "0123"}}


def trial(number: int, state: Any = "ok") -> Trial:
    figure = 100.0 + number if state == "ok" else None
    attributes = {"digest": f"{number:064x}", "size": 100 + number} if figure else {}
    options = {"unroll-count": str(number)}
    return Trial(number, options, state, figure, 0.25, "a\nb", attributes, True, "x")


@contextlib.contextmanager
def kept(path: pathlib.Path, *, parts: dict[str, Any] = PARTS) -> Iterator[Trials]:
    with open_trials(str(path), parts) as file:
        yield file


@pytest.fixture
def path(tmp_path: pathlib.Path) -> pathlib.Path:
    return tmp_path / "trials"


def test_what_is_read_is_what_was_written(path: pathlib.Path) -> None:
    trials = [trial(number, state) for number, state in enumerate(ENDS)]
    trials[1] = replace(trials[1], error="\udcff")  # bytes that are not UTF-8
    with kept(path) as file:
        for each in reversed(trials):
            file.append(each)
    assert kept_trials(path) == {each.number: each for each in trials}


@pytest.mark.parametrize("step", [9, pytest.param(1, marks=pytest.mark.long)])
def test_a_file_that_is_cut_anywhere_goes_on(path: pathlib.Path, step: int) -> None:
    with kept(path) as file:
        for number in range(3):
            file.append(trial(number))
    whole = path.read_bytes()
    for size in sorted({*range(0, len(whole), step), *(at for at in range(len(whole)) if whole[at] == 10)}):
        path.write_bytes(whole[:size])
        with kept(path) as file:
            ended = max(0, whole[:size].count(b"\n") - 1)
            assert file.ended == {number: trial(number) for number in range(ended)}
            for number in range(ended, 3):
                file.append(trial(number))
        assert path.read_bytes() == whole


def refused(path: pathlib.Path, words: str, **more: Any) -> None:
    before = path.read_bytes() if path.is_file() else b""
    with pytest.raises(OptctxError, match=words) as caught, kept(path, **more):
        pass
    assert len(str(caught.value)) < 600
    assert "\n" not in str(caught.value)
    assert (path.read_bytes() if path.is_file() else b"") == before


NO_TRIALS = "it is no file of trials of optctx; name another file"
OTHERS: dict[bytes, str] = {
    b"hello": NO_TRIALS,
    b"a,b\n1,2\n": NO_TRIALS,
    b"[1]\n": NO_TRIALS,
    b"[" * 1_000_000 + b"\n": NO_TRIALS,
    b'{"op_code":0,"study_name":"x"}\n': "differ in format and experiment",
    f"{json.dumps(PARTS)}\n{{}}\n".encode(): NO_TRIALS,
}


def test_a_file_of_something_else_is_refused_and_stays(path: pathlib.Path) -> None:
    for content, words in OTHERS.items():
        path.write_bytes(content)
        refused(path, words)


def test_two_processes_and_what_is_no_file(path: pathlib.Path) -> None:
    with kept(path) as file:
        file.append(trial(0))
        refused(path, "another process is writing to it")
    os.mkfifo(fifo := path.with_suffix(".fifo"))
    refused(fifo, "Illegal seek")
    refused(path.parent, "Is a directory")
    refused(path.parent / "none" / "x", "No such file or directory")


def test_a_full_disk_loses_no_whole_trial(path: pathlib.Path) -> None:
    def work() -> None:
        with kept(path) as file:
            file.append(trial(0))
            size = path.stat().st_size
            resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100, resource.RLIM_INFINITY))
            with pytest.raises(OptctxError, match="it has 1 trials to go on with"):
                file.append(trial(1))
            assert path.stat().st_size == size + 100

    in_child(work)
    with kept(path) as file:
        assert list(file.ended) == [0]
        file.append(trial(1))
    assert list(kept_trials(path)) == [0, 1]
