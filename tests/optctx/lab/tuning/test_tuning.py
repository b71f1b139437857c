"""Searches: what they try, what they find, and what they do where LLVM crashes or hangs."""

from __future__ import annotations

import gc
import hashlib
import itertools
import os
import pathlib
import sys
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest
from optuna.samplers import RandomSampler

from optctx import OptionContext
from optctx.compiling import FreshProcess, Job, Result
from optctx.errors import OptctxError
from optctx.lab.experiment import compile_one, make_plan
from optctx.lab.outcome import Limits
from optctx.lab.space import parse_space
from optctx.lab.sweep import sweep
from optctx.lab.tuning import Search
from optctx.process import all_arguments
from tests.support.endless import LIST, endless
from tests.support.processes import too_long
from tests.support.tuning_cases import JOB, TINY, loops, told, tuned


def test_a_grid_finds_what_a_sweep_finds_and_changes_nothing_here(
    fresh: FreshProcess, unchanged: None
) -> None:
    sweep(JOB, ["unroll-count=1"])  # the server of experiments stays
    gc.collect()  # connections to databases of other tests
    descriptors = len(os.listdir("/proc/self/fd"))
    rows = sweep(JOB, ["unroll-count=1..8", "force-vector-width=1,2,4"])
    study = tuned(JOB, loops())
    assert len(os.listdir("/proc/self/fd")) == descriptors
    found = {tuple(trial.options.items()): trial.figure for trial in study.trials}
    assert found == {tuple(row.options.items()): row.figure for row in rows}
    sizes = [figure for figure in found.values() if figure is not None]
    assert study.ended == "every point of the space was tried"
    best = study.best
    assert best is not None
    assert study.base.figure is not None
    assert best.figure == min(sizes) < study.base.figure
    options = all_arguments(OptionContext(dict(best.options)))
    code = fresh.compile(replace(JOB, options=options)).code
    assert hashlib.sha256(code).hexdigest() == best.attributes["digest"]
    assert len(code) == best.figure


def test_equal_searches_give_equal_trials_on_any_number_of_threads() -> None:
    one, two = (tuned(JOB, loops(), jobs=jobs, trials=14) for jobs in (1, 3))
    assert told(one) == told(two)
    assert [trial.number for trial in one.trials] == list(range(14))
    # Another sampler of Optuna's chooses other points.
    assert told(tuned(JOB, loops(), sampler=RandomSampler(seed=3), trials=8)) != told(one)[:8]


def test_the_sampler_is_a_grid_where_the_trials_are_enough_for_every_point() -> None:
    space = loops()
    assert [Search(trials=trials).is_grid(space) for trials in (None, 24, 23)] == [True, True, False]
    assert not Search(seconds=1.0).is_grid(space)


def test_a_sampler_learns_to_avoid_what_crashes() -> None:
    """It ignores what has failed."""
    study = tuned(JOB, parse_space(["force-vector-width=1,3"])).study
    assert study is not None
    states = {trial.params["force-vector-width"]: trial.state.name for trial in study.trials}
    assert states == {"1": "COMPLETE", "3": "PRUNED"}
    assert study.best_trial.user_attrs["optctx"]["state"] == "ok"


def test_crashes_and_hangs_are_states(fresh: FreshProcess, tmp_path: pathlib.Path) -> None:
    job = Job(TINY, "chr")
    states = {"/dev/null": "ok", str(tmp_path / "none"): "crashed", endless(tmp_path): "timed out"}
    space = parse_space([f"{LIST}={','.join(states)}"])
    study = tuned(job, space, timeout=too_long(lambda: fresh.compile(job)))
    assert {trial.options[LIST]: trial.state for trial in study.trials} == states
    [error] = [trial.error for trial in study.trials if trial.state == "crashed"]
    assert error.endswith(f"Couldn't read the chr-module-list file {tmp_path / 'none'}")
    assert all(trial.figure is None for trial in study.trials if trial.state != "ok")


def test_options_that_are_not_read_cost_no_compilation() -> None:
    unread = ("amdgpu-enable-delay-alu", "aarch64-enable-ccmp", "hexagon-bit", "ppc-enable-coldcc")
    study = tuned(JOB, parse_space(["unroll-count=1,2", *unread]), jobs=1)
    assert len(study.trials) == 32
    assert study.compiled <= 8 + 1, "those of the first window, and one that reduces the best"
    by_count = {(trial.options["unroll-count"], trial.attributes["digest"]) for trial in study.trials}
    assert len(by_count) == 2


def test_compile_times_are_of_one_compilation_at_a_time() -> None:
    space = parse_space(["unroll-count=2,4"])
    study = tuned(JOB, space, "compile-time", jobs=4)
    assert all(each.figure == each.seconds > 0 for each in (study.base, *study.trials))
    assert study.compiled == 6, "three times each"


def test_of_three_compilations_the_fastest_or_one_without_output_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Compilations are those of a script here."""
    plan = replace(make_plan(JOB, Limits()), repeats=3)
    for last, expected in (
        (Result(seconds=2.0), (1.0, "")),
        (Result(error="no", seconds=9.0, end="failed"), (0.0, "no")),
    ):
        given = iter([Result(seconds=3.0), Result(seconds=1.0), last])
        monkeypatch.setattr("optctx.lab.experiment.compile_unchecked", lambda job, given=given: next(given))
        answer = compile_one(plan, {"unroll-count": "2"})
        assert (answer.seconds, answer.error) == expected


def test_limits_end_a_search(monkeypatch: pytest.MonkeyPatch) -> None:
    space = parse_space(["unroll-count=1..100000"])
    assert tuned(JOB, space, trials=3).ended == "3 trials"
    hours = itertools.count(time.monotonic() + 3600, 3600.0)  # one at each look
    monkeypatch.setattr(
        sys.modules["optctx.lab.tuning.tuning"], "time", SimpleNamespace(monotonic=lambda: next(hours))
    )
    timed = tuned(JOB, space, seconds=60)
    assert (timed.ended, timed.total, timed.trials) == ("60 seconds", None, ())


def test_what_cannot_be_compiled_without_options_is_said_before_any_trial() -> None:
    for job, expected in (
        (Job("define"), "cannot read the module"),
        (Job(TINY, "trigger-crash-module"), "the module without any option crashed: "),
    ):
        with pytest.raises(OptctxError, match=expected):
            tuned(job, parse_space(["unroll-count=1,2"]))
