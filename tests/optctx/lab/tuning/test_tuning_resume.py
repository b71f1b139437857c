"""Studies that are interrupted, killed, damaged or forged."""

from __future__ import annotations

import contextlib
import functools
import gc
import json
import os
import pathlib
import pickle
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from optctx.compiling import Job
from optctx.errors import OptctxError
from optctx.lab.tuning import Budget, Instructions, Trial, Tuning, journal, parse_space, tune
from optctx.lab.tuning.rows import Rows
from optctx.lab.tuning.study_file import Steps
from tests.support.processes import SECONDS, of_session, wait_for
from tests.support.tuning_cases import JOB, TINY, cut_short, kept, loops, told

# The command, which stands still after so many more rows, while workers compile. 0: goes through.
PAUSING = """
import signal, sys
from optctx.lab.command.main import main
from optctx.lab.tuning import journal

left, append = int(sys.argv.pop(1)), journal.Journal.append

def pausing(self, trial, values):
    global left
    append(self, trial, values)
    left -= 1
    if not left:
        signal.pause()

journal.Journal.append = pausing
sys.exit(main())
"""
OPTCTX = [sys.executable, "-m", "optctx"]
ARGUMENTS: dict[str, Any] = {"job": JOB, "space": loops(), "seed": 5, "budget": Budget(trials=16)}


@pytest.mark.parametrize("trials", [120, 500])
@pytest.mark.long
def test_a_study_that_is_killed_five_times_has_each_trial_once(trials: int, tmp_path: pathlib.Path) -> None:
    (tmp_path / "tiny.ll").write_text(TINY)
    study = tmp_path / "night.db"
    command = [
        *(sys.executable, "-c", PAUSING, "0"),
        *("tune", str(tmp_path / "tiny.ll"), "--passes", "default<O1>", "--jobs", "2"),
        *("--set", "unroll-count=1..100", "--set", "inline-threshold=1..100", "--sampler", "random"),
        *("--trials", str(trials), "--study", str(study), "--resume", "--format", "json"),
    ]
    rows = 0
    for percent in (8, 16, 29, 1, 44):
        more = trials * percent // 100
        command[3], rows = str(more), rows + more
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True) as process:
            wait_for(functools.partial(lambda enough: kept(study) == enough, rows))
            process.kill()
        assert process.returncode == -signal.SIGKILL
        wait_for(lambda: not of_session(process.pid))
        assert kept(study) == rows
    command[3] = "0"
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)["trials"]
    assert len(found) == len({json.dumps(trial["options"]) for trial in found}) == trials
    assert [trial["number"] for trial in found] == list(range(trials))
    assert kept(study) == trials
    whole = tune(
        Job(TINY, "default<O1>"),
        parse_space(["unroll-count=1..100", "inline-threshold=1..100"]),
        sampler="random",
        budget=Budget(trials=trials),
    )
    assert [trial["options"] for trial in found] == [trial.options for trial in whole.trials]


def test_a_search_goes_on_as_if_nothing_had_happened(tmp_path: pathlib.Path) -> None:
    arguments = {**ARGUMENTS, "study": str(tmp_path / "study.db")}
    cut_short(5, **arguments)
    assert kept(tmp_path / "study.db") in (5, 6)
    study = tune(**arguments, resume=True)
    assert told(study) == told(tune(**ARGUMENTS))
    assert study.compiled <= 16 - 5
    again = tune(**arguments, resume=True)
    assert told(again) == told(study)
    assert again.compiled == 0
    assert again.trials == study.trials
    more = tune(**{**arguments, "budget": Budget(trials=18)}, resume=True)
    assert told(more)[:16] == told(study)
    assert len(more.trials) == 18


def test_what_an_interrupted_search_shows_is_what_is_kept(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C may come when a row is written, and before the search knows that it is."""
    file = tmp_path / "study.db"
    append = journal.Journal.append

    def interrupted(self: journal.Journal, trial: Trial, values: Any) -> None:
        append(self, trial, values)
        if kept(file) == 3:
            raise KeyboardInterrupt

    with Tuning(**ARGUMENTS, study=str(file)) as tuning:
        with monkeypatch.context() as patch:
            patch.setattr(journal.Journal, "append", interrupted)
            with pytest.raises(KeyboardInterrupt):
                tuning.run()
        assert len(tuning.study.trials) == kept(file) == 3
    assert told(tune(**ARGUMENTS, study=str(file), resume=True)) == told(tune(**ARGUMENTS))


@pytest.fixture
def study(tmp_path: pathlib.Path) -> str:
    """A study that ended after four trials."""
    file = str(tmp_path / "study.db")
    tune(**{**ARGUMENTS, "study": file, "budget": Budget(trials=4)})
    return file


DIFFERENT: dict[str, dict[str, Any]] = {
    "input": {"job": Job(TINY, JOB.passes)},
    "pipelines": {"job": Job(JOB.ir, "default<O3>")},
    "target": {"job": Job(JOB.ir, JOB.passes, opt_level=3)},
    "space": {"space": parse_space(["unroll-count=1..8"])},
    "objectives": {"objectives": (Instructions(),)},
    "sampler": {"sampler": "random"},
    "seed": {"seed": 6},
    "window": {"window": 2},
}


def test_a_study_of_something_else_is_refused_by_name(study: str) -> None:
    before = pathlib.Path(study).read_bytes()
    for name, different in DIFFERENT.items():
        with pytest.raises(OptctxError, match=f"it is a study that differs in {name};"):
            tune(**{**ARGUMENTS, **different, "study": study, "resume": True})
    with pytest.raises(OptctxError, match="it exists already; go on with --resume"):
        tune(**ARGUMENTS, study=study)
    assert pathlib.Path(study).read_bytes() == before


def test_two_searches_do_not_share_a_study(study: str) -> None:
    def another(trial: object) -> None:
        with pytest.raises(OptctxError, match="another search is writing to it"):
            tune(**ARGUMENTS, study=study, resume=True)

    tune(**{**ARGUMENTS, "budget": Budget(trials=5)}, study=study, resume=True, on_trial=another)


class Planted:
    """Makes a file when it is unpickled."""

    def __init__(self, path: pathlib.Path) -> None:
        self._path = path

    def __reduce__(self) -> tuple[Callable[..., None], tuple[pathlib.Path]]:
        return pathlib.Path.touch, (self._path,)


def test_a_planted_pickle_is_not_read(tmp_path: pathlib.Path) -> None:
    """Optuna's CMA-ES sampler unpickles what it finds with a trial."""
    file, marker = tmp_path / "study.db", tmp_path / "planted"
    arguments = {**ARGUMENTS, "sampler": "cmaes", "study": str(file)}
    cut_short(8, **arguments)
    text = pickle.dumps(Planted(marker)).hex()
    with contextlib.closing(sqlite3.connect(file)) as database, database:
        for (trial,) in database.execute("SELECT trial_id FROM trials").fetchall():
            for key, value in (("cma:optimizer:0", text), ("cma:generation", 0)):
                row = (trial, key, json.dumps(value))
                database.execute(
                    "INSERT INTO trial_system_attributes (trial_id, key, value_json) VALUES (?, ?, ?)", row
                )
    study = tune(**arguments, resume=True)
    assert not marker.exists()
    assert told(study) == told(tune(**{**ARGUMENTS, "sampler": "cmaes"}))
    import optuna

    with journal._opened(str(file), Steps(0)) as storage:
        theirs = optuna.load_study(
            study_name="optctx", storage=storage, sampler=optuna.samplers.CmaEsSampler()
        )
        with contextlib.suppress(Exception):
            theirs.ask({"unroll-count": optuna.distributions.IntDistribution(1, 8)})
    assert marker.exists(), "the trap itself"


USER = "trial_user_attributes"
FORGED = {
    "UPDATE trial_params SET param_value = 99 WHERE param_name = 'unroll-count'": "its values are not of the",
    "UPDATE trial_params SET param_name = 'version' WHERE param_name = 'unroll-count'": "its values are not",
    "DELETE FROM trial_params": "its values are not of the space",
    "UPDATE trial_params SET distribution_json = '{}'": "cannot read the study",
    "UPDATE trial_params SET distribution_json = 'x'": "cannot read the study",
    "UPDATE trial_values SET value = 9e999": "figures",
    "UPDATE trial_values SET value = 'x'": "cannot",
    "DELETE FROM trial_values": "figures",
    f"UPDATE {USER} SET value_json = '7'": "is not of this study",
    f"UPDATE {USER} SET value_json = '{{\"number\": 0}}'": "is not of this study",
    f"UPDATE {USER} SET value_json = '{{'": "cannot read the study",
    f"UPDATE {USER} SET value_json = '{'[' * 100_000}'": "cannot read the study",
    f"UPDATE {USER} SET value_json = (SELECT min(value_json) FROM {USER})": "it has two trials",
    "UPDATE trials SET state = 'NONE'": "cannot read the study",
    "DELETE FROM study_user_attributes": "it is no study of optctx",
    "UPDATE study_user_attributes SET value_json = '[]'": "it is no study of optctx",
    "UPDATE alembic_version SET version_num = 'x'": "cannot use the study",
    "DROP TABLE trial_params": "its values are not of the space",
    "DROP TABLE studies": "cannot",
}


@pytest.mark.parametrize("statement", FORGED, ids=lambda text: text[:70])
def test_a_forged_study_is_refused(
    statement: str, template: bytes, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, made = sqlite3.connect, []

    def connect(*path: Any, **more: Any) -> sqlite3.Connection:
        made.append(real(*path, **more))
        return made[-1]

    monkeypatch.setattr(sqlite3, "connect", connect)
    file = tmp_path / "study.db"
    file.write_bytes(template)
    with contextlib.closing(sqlite3.connect(file)) as database, database:
        database.execute(statement)
    with pytest.raises(OptctxError, match=FORGED[statement]) as caught:
        tune(**ARGUMENTS, study=str(file), resume=True)
    assert "study.db" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert made
    for connection in made:
        with pytest.raises(sqlite3.ProgrammingError, match="closed database"):
            connection.execute("SELECT 1")


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bytes of a study of four trials."""
    file = tmp_path_factory.mktemp("template") / "study.db"
    tune(**{**ARGUMENTS, "study": str(file), "budget": Budget(trials=4)})
    return file.read_bytes()


def test_files_that_are_no_studies_are_refused(tmp_path: pathlib.Path) -> None:
    (tmp_path / "text").write_text("unroll-count=4\n")
    (tmp_path / "damaged").write_bytes(b"SQLite format 3\0" + os.urandom(2000))
    os.mkfifo(tmp_path / "pipe")
    cases = {
        "text": "expected a study in SQLite, found something else",
        "damaged": "cannot use the study",
        "pipe": "it is not a regular file",
        ".": "directory",
        "none/study.db": "there is no directory",
        "a?b": "no '?' in a path",
    }
    for name, expected in cases.items():
        with pytest.raises(OptctxError, match=expected.replace("?", r"\?")):
            tune(**ARGUMENTS, study=str(tmp_path / name), resume=True)
    with pytest.raises(OptctxError, match="cannot use the study in nohost/db"):
        tune(**ARGUMENTS, study="nosuchdatabase://user:secret@nohost/db")
    with pytest.raises(OptctxError, match="name the one to go on with"):
        tune(**ARGUMENTS, resume=True)


def test_a_study_of_another_optuna_goes_on_without_doing_anything_twice(
    study: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One whose samplers ask for other points."""
    import optuna

    first = tune(**{**ARGUMENTS, "budget": Budget(trials=4)}, study=study, resume=True)
    real = optuna.samplers.TPESampler
    monkeypatch.setattr(optuna.samplers, "TPESampler", lambda seed: real(seed=seed + 1))
    other = tune(**ARGUMENTS, study=study, resume=True)
    assert told(other)[:4] == told(first)
    assert len({tuple(trial.options.items()) for trial in other.trials}) == len(other.trials) == 16


def test_a_full_disk_is_an_error_and_the_study_goes_on(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By SQLite's own limit, in the middle of a trial's rows."""
    real = journal._connect

    def small(path: str) -> sqlite3.Connection:
        connection = real(path)
        connection.execute("PRAGMA max_page_count = 40")
        return connection

    file = tmp_path / "study.db"
    space = parse_space(["unroll-count=1..1000"])  # which TINY does not read
    arguments: dict[str, Any] = {"job": Job(TINY), "space": space, "budget": Budget(trials=150)}
    with monkeypatch.context() as patch:
        patch.setattr(journal, "_connect", small)
        with pytest.raises(OptctxError, match=r"disk is full; it has \d+ trials, go on with") as caught:
            tune(**arguments, sampler="random", study=str(file))
    (count,) = re.findall(r"has (\d+) trials", str(caught.value))
    assert 4 <= kept(file) == int(count) < 150
    study = tune(**arguments, sampler="random", study=str(file), resume=True)
    assert told(study) == told(tune(**arguments, sampler="random"))


def test_a_connection_that_an_interruption_leaves_open_is_given_back_in_silence(
    tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    """SQLAlchemy rolls back what it finds open, after the study is closed; Python prints what it logs."""
    left = []
    with journal._opened(str(tmp_path / "study.db"), Steps(0)) as storage:
        left.append(storage.engine.connect())
        left[0].exec_driver_sql("SELECT 1")
        storage.remove_session()
    left.clear()
    gc.collect()
    assert caplog.messages == []


def _tables(file: pathlib.Path) -> dict[str, list[tuple[Any, ...]]]:
    with contextlib.closing(sqlite3.connect(file)) as database:
        names = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: database.execute(f"SELECT * FROM {name}").fetchall() for name in names}


def test_rows_are_those_that_optuna_writes(tmp_path: pathlib.Path) -> None:
    import optuna
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
    from optuna.trial import TrialState

    def trial(state: TrialState, values: list[float] | None, **params: Any) -> optuna.trial.FrozenTrial:
        return optuna.trial.create_trial(
            state=state,
            values=values,
            params=params,
            distributions={name: kinds[name] for name in params},
            user_attrs={"optctx": {"number": 7, "error": "漢 'x'\n", "seconds": 0.1}, "more": [None, True]},
        )

    kinds = {
        "count": IntDistribution(1, 1 << 40, log=True),
        "step": FloatDistribution(0.0, 1.0, step=0.1),
        "choice": CategoricalDistribution(("default<O2>", 'it\'s "x"')),
    }
    trials = [
        trial(TrialState.COMPLETE, [0.1, -1e300], count=12345678901, step=0.3, choice='it\'s "x"'),
        trial(TrialState.FAIL, None, choice="default<O2>"),
        trial(TrialState.COMPLETE, [3.0, 0.0]),
    ]
    for each in trials:  # as one that has no sub-second part
        each.datetime_complete = each.datetime_start.replace(microsecond=0) if each.datetime_start else None
    files = [tmp_path / name for name in ("theirs.db", "ours.db")]
    for file in files:
        with journal._opened(str(file), Steps(0)) as storage:
            for _ in range(2):  # numbers of trials are those of a study
                study = storage.create_new_study([optuna.study.StudyDirection.MINIMIZE] * 2)
                rows = Rows(storage, study)
                for each in trials:
                    assert rows.takes(each)
                    if file is files[0]:
                        storage.create_new_trial(study, each)
                    else:
                        rows.add(each)
            read = storage.get_all_trials(study)
            assert [found.params for found in read] == [each.params for each in trials]
            infinite = trial(TrialState.COMPLETE, [float("inf"), 0.0])
            assert not rows.takes(infinite)
    theirs, ours = map(_tables, files)
    assert len(theirs["trial_params"]) == 8
    for tables in (theirs, ours):
        for names in ("studies", "version_info"):  # a study's name is made up
            del tables[names]
        tables["trial_params"].sort(key=lambda row: row[1:])
    assert [row[1:] for row in theirs.pop("trial_params")] == [row[1:] for row in ours.pop("trial_params")]
    assert ours == theirs


def test_tables_of_another_optuna_are_written_by_optuna(study: str) -> None:
    with contextlib.closing(sqlite3.connect(study)) as database, database:
        database.execute("ALTER TABLE trials ADD COLUMN later TEXT")
    with journal._opened(study, Steps(0)) as storage:
        assert not Rows(storage, 1).takes(storage.get_all_trials(1)[0])
    done = tune(**{**ARGUMENTS, "budget": Budget(trials=6)}, study=study, resume=True)
    assert [trial.number for trial in done.trials] == list(range(6))
    assert kept(pathlib.Path(study)) == 6
