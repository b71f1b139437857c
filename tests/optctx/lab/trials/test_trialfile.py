"""The file of trials: Optuna reads it, a kill or a full disk spoils nothing, and a stranger's is refused."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import pathlib
import resource
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from optctx.errors import OptctxError
from optctx.lab.space import Choices, Dimension, Floats, Integers, Space
from optctx.lab.trials import STATES, Goal, Trial, Trials, open_trials, read_trials
from optctx.outputs import GoneError
from tests.support.processes import in_child
from tests.support.rows import rows

SPACE = Space(
    (
        Dimension("unroll-count", Integers(1, 64, log=True)),
        Dimension("enable-gvn-hoist", Choices(("default", "true", "false"))),
        Dimension("a", Floats(0.5, 2.5)),
    )
)
PARTS = {"format": 1, "experiment": "sweep", "space": SPACE.texts(), "input": {"a.ll": "0123"}}
GOALS = [Goal("size", "object bytes"), Goal("instructions", "IR instructions", "maximise")]


def point(number: int) -> Mapping[str, int | float | str]:
    return {"unroll-count": number % 64 + 1, "enable-gvn-hoist": ("default", "true")[number % 2], "a": 1.5}


def trial(number: int, state: Any = "ok") -> Trial:
    figures = {"size": 100.0 + number, "instructions": 7.0} if state == "ok" else {}
    options = {name: str(value) for name, value in point(number).items()}
    attributes = {"digest": f"{number:064x}", "size": 100 + number} if figures else {}
    return Trial(number, options, "default<O3>", state, figures, 0.25, "a\nb", attributes, "a.ll", True, "x")


@contextlib.contextmanager
def kept(path: pathlib.Path, *, resume: bool = False, parts: dict[str, Any] = PARTS) -> Iterator[Trials]:
    with open_trials(str(path), parts, GOALS, SPACE, point, resume=resume) as file:
        yield file


@pytest.fixture
def path(tmp_path: pathlib.Path) -> pathlib.Path:
    return tmp_path / "trials.journal"


def test_optuna_reads_it_with_the_same_numbers(path: pathlib.Path) -> None:
    optuna = pytest.importorskip("optuna")
    trials = [trial(number, state) for number, state in zip((2, 0, 5, 1, 7), STATES, strict=True)]
    trials[1] = replace(trials[1], error="\udcff")  # bytes that are not UTF-8
    with kept(path) as file:
        for each in trials:
            file.append(each)
    backend = optuna.storages.journal.JournalFileBackend(str(path))
    study = optuna.load_study(study_name="optctx", storage=optuna.storages.JournalStorage(backend))
    assert [direction.name for direction in study.directions] == ["MINIMIZE", "MAXIMIZE"]
    found = {each.number: each for each in study.trials}
    assert [found[number].state.name for number in range(8)] == [
        *("FAIL", "FAIL", "COMPLETE", "RUNNING", "RUNNING", "FAIL", "RUNNING", "FAIL")
    ]
    assert found[2].values == [102.0, 7.0]
    assert found[7].params == dict(point(7))
    assert isinstance(found[7].params["unroll-count"], int)
    again = read_trials(str(path))
    trials[1] = replace(trials[1], error="\\udcff")
    assert again.trials == {t.number: t for t in trials}
    assert again.identity == PARTS


@pytest.mark.parametrize("step", [9, pytest.param(1, marks=pytest.mark.long)])
def test_a_file_that_is_cut_anywhere_goes_on(path: pathlib.Path, step: int) -> None:
    with kept(path) as file:
        for number in range(3):
            file.append(trial(number))
    whole = path.read_bytes()
    ends = [0]  # after each trial
    for line in whole.splitlines(keepends=True):
        ends[-1] += len(line)
        if json.loads(line)["op_code"] == 6:
            ends.append(ends[-1])
    lines = [0, *itertools.accumulate(map(len, whole.splitlines(keepends=True)))]
    for size in sorted({*range(0, len(whole), step), *lines, *(end - 1 for end in lines[1:])}):
        path.write_bytes(whole[:size])
        with kept(path, resume=True) as file:
            expected = {number: trial(number) for number in range(3) if ends[number] <= size}
            assert file.kept.trials == expected
            for number in range(3):
                if number not in expected:
                    file.append(trial(number))
        found = read_trials(str(path))
        assert found.trials == {number: trial(number) for number in range(3)}
        assert found.begun == 3


def refused(path: pathlib.Path, words: str, **more: Any) -> None:
    before = path.read_bytes() if path.is_file() else b""
    with pytest.raises(OptctxError, match=words) as caught, kept(path, **more):
        pass
    assert len(str(caught.value)) < 600
    assert "\n" not in str(caught.value)
    assert (path.read_bytes() if path.is_file() else b"") == before


def test_another_experiment_is_refused_by_what_differs(path: pathlib.Path) -> None:
    with kept(path) as file:
        file.append(trial(0))
    refused(path, "exists already; go on with --resume")
    for words, parts in {
        "a sweep that differs in space and input": PARTS | {"space": [], "input": {}},
        "differs in seed": PARTS | {"seed": 3},
        "differs in space": {name: part for name, part in PARTS.items() if name != "space"},
        "expected experiment 'rank', found experiment 'sweep'": PARTS | {"experiment": "rank"},
        "expected format 2, found format '1'": PARTS | {"format": 2},
    }.items():
        refused(path, words, resume=True, parts=parts)


DEEP = b"[" * 1_000_000 + b"]" * 1_000_000  # Python 3.15 counts the bytes of the stack, not levels
HOSTILE: dict[bytes, str] = {
    b"hello": "expected a file of trials",
    b"a,b\n1,2\n": "line 1 .*malformed",
    b'{"op_code":0,"study_name":"x"}\n': "expected the study 'optctx' alone",
    b'{"op_code":4}\n': "expected a study of optctx first",
}


def record(number: int = 0, trial: int = 0, options: str = "{}", more: str = "") -> bytes:
    """The line of a trial, of which something may be odd."""
    text = f'{{"number":{trial},"options":{options},"passes":"","state":"ok"{more}}}'
    return b'{"op_code":8,"trial_id":%d,"user_attr":{"optctx":%s}}\n' % (number, text.encode())


APPENDED: dict[bytes, str] = {
    b'{"op_code":3,"x":' + DEEP + b"}\n": "nests too deeply",
    b'{"op_code":2,"user_attr":{"optctx":' + b"[" * 40 + b"]" * 40 + b"}}\n": "32 levels",
    b'{"op_code":6,"trial_id":' + b"9" * 900_000 + b"}\n": "",
    record(more=f',"attributes":{{"a":{"9" * 30}}}'): "at most 64 bits",
    record(more=',"seconds":1e999'): "out of range",
    record(options='{"a":1}'): "Expected `str`, got `int`",
    record(9, 9): "expected a trial that has begun",
    record(0, 1): "has begun",
    b'{"op_code":0,"study_name":"optctx"}\n': "alone",
    b'{"op_code":1,"study_id":0}\n': "found 1",
    b'{"op_code":3,"x":"' + b"x" * (5 << 20): "at most 4,194,304 bytes",
}


def test_a_file_of_something_else_is_refused_by_the_number_of_a_line_and_stays(path: pathlib.Path) -> None:
    for content, words in HOSTILE.items():
        path.write_bytes(content)
        refused(path, words, resume=True)
        with pytest.raises(OptctxError, match=words):
            read_trials(str(path))
    path.unlink()
    with kept(path) as file:
        file.append(trial(0))
    whole = path.read_bytes()
    for content, words in APPENDED.items():
        path.write_bytes(whole + content)
        refused(path, f"line 6 .*{words}", resume=True)


def test_nothing_is_written_that_could_not_be_read_again(
    path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = "x" * (5 << 20)
    too_long = pytest.raises(OptctxError, match="a line has at most 4,194,304 bytes, found 5,")
    with kept(path, parts={**PARTS, "input": {long: "0123"}}) as file, too_long:
        file.append(trial(0))
    assert path.read_bytes() == b""
    with kept(path) as file:
        file.append(trial(0))
        with pytest.raises(OptctxError, match="a line has at most 4,194,304 bytes, found 5,"):
            file.append(replace(trial(1), error=long))
        monkeypatch.setattr("optctx.lab.trials.trialfile.MOST_BYTES", path.stat().st_size + 100)
        with pytest.raises(OptctxError, match="a file has at most "):
            file.append(trial(1))
    assert list(read_trials(str(path)).trials) == [0]


def test_two_processes_one_link_and_what_is_no_file(path: pathlib.Path) -> None:
    with kept(path) as file:
        file.append(trial(0))
        refused(path, "another process is writing to it", resume=True)
    os.mkfifo(fifo := path.with_suffix(".fifo"))
    refused(fifo, "not a regular file")
    refused(pathlib.Path("/dev/null"), "not a regular file")
    refused(path.parent, "directory")
    (large := path.with_suffix(".large")).touch()
    os.truncate(large, 1 << 40)
    with pytest.raises(OptctxError, match="it has 1,099,511,627,776 bytes, of at most 1,073,741,824"):
        read_trials(str(large))
    refused(path.parent / "none" / "x", "there is no directory")


def vanish(path: pathlib.Path, *, at_the_end: bool) -> None:
    path.unlink(missing_ok=True)
    with kept(path) as file:
        file.append(trial(0))
        path.unlink()
        if at_the_end:
            path.write_bytes(b"")
        else:
            file.append(trial(1))


@rows("at_the_end", [True, False])
def test_a_file_that_goes_is_an_error(path: pathlib.Path, at_the_end: bool) -> None:
    with pytest.raises(GoneError, match="deleted, moved or replaced"):
        vanish(path, at_the_end=at_the_end)


def test_a_full_disk_leaves_whole_trials(path: pathlib.Path) -> None:
    def work() -> None:
        with kept(path) as file:
            file.append(trial(0))
            size = path.stat().st_size
            resource.setrlimit(resource.RLIMIT_FSIZE, (size + 300, resource.RLIM_INFINITY))
            with pytest.raises(OptctxError, match="it has 1 trials, go on with --resume"):
                file.append(trial(1))
            assert path.stat().st_size == size

    in_child(work)
    with path.open("ab") as appended:  # what a dashboard adds is left alone
        appended.write(b'{"op_code":3,"study_id":0,"system_attr":{"dashboard:note":"x"}}\n')
        appended.write(b'{"op_code":9,"trial_id":0,"system_attr":{"a":[1]}}\n')
    with kept(path, resume=True) as file:
        assert list(file.kept.trials) == [0]
        file.append(trial(1))
    assert list(read_trials(str(path)).trials) == [0, 1]
