"""Searches on other processes: a Dask cluster of which workers die and differ, and executors."""

from __future__ import annotations

import gc
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import dask
import pytest
import trustme

from optctx import OptionContext
from optctx.compiling import Job
from optctx.engine.attach import attach
from optctx.errors import OptctxError
from optctx.lab.tuning import Budget, CompilationTime, RunTime, Size, Trial, parse_space, tune
from optctx.lab.tuning.cluster import Expected, remote
from optctx.lab.tuning.cluster import dask as dask_workers
from optctx.lab.tuning.cluster.dask import DaskWorkers
from optctx.lab.tuning.cluster.parcels import Parcels
from optctx.lab.tuning.cluster.task import Work, perform, perform_all
from optctx.lab.tuning.cluster.workers import Lost
from optctx.lab.tuning.machine import processor_model
from tests.optctx.lab.tuning.dask_cluster import Cluster, another_library
from tests.support.processes import LISTENING, SECONDS, wait_for
from tests.support.tuning_cases import HARNESS, JOB, KERNEL, LOOSE, TINY, deadly, kept, loops, told

pytestmark = pytest.mark.cluster
ARGUMENTS: dict[str, Any] = {"seed": 7, "budget": Budget(trials=24), "timeout": 60.0}


@pytest.fixture
def cluster(tmp_path: pathlib.Path) -> Iterator[Cluster]:
    folder = tmp_path / "dask"
    folder.mkdir()
    with Cluster(folder) as cluster:
        yield cluster


def test_a_search_does_without_a_lost_worker_and_one_with_another_library(
    cluster: Cluster, tmp_path: pathlib.Path
) -> None:
    other = another_library(tmp_path)
    cluster.start("first", "--no-nanny")
    cluster.start("second", "--no-nanny")
    cluster.start("other", "--no-nanny", modules=tmp_path)
    cluster.wait_for(3)

    def kill_one(trial: Trial) -> None:
        if trial.number == 6:  # with work in its hands, which it does not end
            cluster.workers["first"].send_signal(signal.SIGSTOP)
            timer = threading.Timer(1.0, cluster.workers["first"].kill)
            timer.daemon = True
            timer.start()

    there = tune(JOB, loops(), cluster=cluster.address, on_trial=kill_one, **ARGUMENTS)
    assert told(there) == told(tune(JOB, loops(), **ARGUMENTS))
    (refused,) = there.refused
    assert f"build id of LLVM: expected {attach().image.build_id}, found {other}" in refused
    assert refused.startswith("worker tcp://127.0.0.1:")
    (lost,) = there.lost
    assert lost.startswith("worker tcp://127.0.0.1:")
    cluster.workers["second"].kill()
    with pytest.raises(OptctxError, match=f"no worker can be used .*{other}"):
        tune(JOB, loops(), cluster=cluster.address, **ARGUMENTS)


def test_a_trial_that_kills_every_worker_has_crashed(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.start("nannies", "--nworkers", "2")
    cluster.wait_for(2)
    monkeypatch.setattr(remote, "evaluate", deadly)
    space = parse_space(["unroll-count=1..6"])
    there = tune(JOB, space, cluster=cluster.address, sampler="grid", window=6)
    here = tune(JOB, space, sampler="grid", window=6)
    for expected, trial in zip(told(here), there.trials, strict=True):
        if trial.options["unroll-count"] == "3":
            assert trial.state == "crashed"
            assert "each of 3 workers was lost with it: worker tcp://" in trial.error
        else:
            assert told(there)[trial.number] == expected
    assert len(there.lost) >= 3
    # Dask itself tries no other worker here, and says so. It would suspect what waits beside it.
    from distributed import Client

    with Client(cluster.address, set_as_default=False) as client, client.get_executor() as executor:
        again = tune(JOB, space, executor=executor, sampler="grid", window=1)
    assert told(again) == told(there)
    (crashed,) = (trial for trial in again.trials if trial.state == "crashed")
    assert "its worker was lost with it: KilledWorker" in crashed.error


def test_run_times_are_measured_by_workers(cluster: Cluster, tmp_path: pathlib.Path) -> None:
    for name in ("first", "second"):
        cluster.start(name, "--no-nanny")
    cluster.wait_for(2)
    with OptionContext(force_vector_width=1, unroll_count=1, force_vector_interleave=1):
        study = tune(
            KERNEL,
            parse_space(["force-vector-width=1,4", "unroll-count=1,2"]),
            (RunTime(harness=HARNESS, tolerance=LOOSE, seconds=1.0),),
            sampler="grid",
            minimise=True,
            cluster=cluster.address,
        )
    best = study.best
    assert best is not None
    assert best.options["force-vector-width"] == "4"
    assert study.minimised is not None
    assert study.minimised["force-vector-width"] == "4"
    assert study.confirmation is not None
    assert study.confirmation["second"]["low"] > 1
    # Its processor is not that of the others.
    with DaskWorkers(cluster.address, Expected.here()) as workers:
        workers.expect_processor("Z80")
        expected = re.escape(f"processor: expected Z80, found {processor_model()}")
        with pytest.raises(OptctxError, match=expected):
            workers.do(len, "abc")


def test_a_cluster_may_encrypt(tmp_path: pathlib.Path) -> None:
    """With certificates that Dask's own settings name, for the search as for the workers."""
    authority = trustme.CA()
    certificate = authority.issue_cert("127.0.0.1")
    names = {"ca-file": tmp_path / "authority.pem", "cert": tmp_path / "own.pem", "key": tmp_path / "key.pem"}
    authority.cert_pem.write_to_path(names["ca-file"])
    certificate.cert_chain_pems[0].write_to_path(names["cert"])
    certificate.private_key_pem.write_to_path(names["key"])
    begin = "distributed.comm.tls."
    settings = {"distributed.comm.require-encryption": "True", f"{begin}ca-file": str(names["ca-file"])}
    settings |= {
        f"{begin}{role}.{name}": str(names[name])
        for role in ("scheduler", "worker", "client")
        for name in ("cert", "key")
    }
    environment = {
        f"DASK_{key.replace('.', '__').replace('-', '_').upper()}": value for key, value in settings.items()
    }
    folder = tmp_path / "dask"
    folder.mkdir()
    with Cluster(folder, "tls", environment) as cluster:
        import distributed  # noqa: F401  its defaults, set inside the block, would be gone after it

        with dask.config.set(settings):
            cluster.start("first", "--no-nanny")
            cluster.wait_for(1)
            there = tune(JOB, loops(), cluster=cluster.address, **ARGUMENTS)
        assert told(there) == told(tune(JOB, loops(), **ARGUMENTS))
        for address in (cluster.address, cluster.address.replace("tls", "tcp")):  # without a certificate
            with pytest.raises(OptctxError, match=f"cannot connect to a Dask scheduler at {address}"):
                tune(JOB, loops(), cluster=address, **ARGUMENTS)


def test_an_executor_of_dask_gives_the_same_trials(cluster: Cluster) -> None:
    from distributed import Client

    for name in ("first", "second"):
        cluster.start(name, "--no-nanny")
    cluster.wait_for(2)
    with Client(cluster.address, set_as_default=False) as client, client.get_executor() as executor:
        there = tune(JOB, loops(), executor=executor, **ARGUMENTS)
    assert told(there) == told(tune(JOB, loops(), **ARGUMENTS))


def test_ctrl_c_keeps_what_is_done(cluster: Cluster, tmp_path: pathlib.Path) -> None:
    cluster.start("first", "--no-nanny")
    cluster.wait_for(1)
    (tmp_path / "tiny.ll").write_text(TINY)
    study = tmp_path / "night.db"
    # The last value never ends.
    words = ["--set", "misched-limit=default,0", "--set", "unroll-count=1,2", "--sampler", "grid"]
    words += ["--timeout", "100", "--cluster", cluster.address, "--study", str(study), "--format", "json"]
    with subprocess.Popen(
        [sys.executable, "-c", LISTENING, "tune", str(tmp_path / "tiny.ll"), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
    ) as process:
        wait_for(lambda: kept(study) >= 1)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 130
    assert "go on with --resume" in err
    assert 1 <= len(json.loads(out)["trials"]) == kept(study) <= 2


def test_a_worker_that_differs_does_nothing() -> None:
    expected = Expected((("llvmlite", "0.1"), ("optctx", "9")), "Z80")
    reply = perform(expected, Work(0, 0, os._exit, (1,)))
    assert [mismatch.what for mismatch in reply.mismatches] == [
        "release of llvmlite",
        "release of optctx",
        "processor",
    ]
    assert perform_all(expected, [Work(0, number, os._exit, (1,)) for number in range(3)]) == [reply] * 3
    assert perform(Expected.here(), Work(0, 0, len, ("abc",))).value == 3


def test_only_short_tasks_go_in_parcels() -> None:
    parcels = Parcels()
    assert parcels.size(waiting=100, places=2) == 1
    for _ in range(8):
        parcels.took(0.05)
    assert [parcels.size(waiting, places=2) for waiting in (1, 2, 3, 8, 100)] == [1, 1, 2, 4, 20]
    parcels.took(0.4)
    assert parcels.size(waiting=8, places=2) == 2
    parcels.took(30.0)
    assert parcels.size(waiting=8, places=2) == 1
    for _ in range(8):
        parcels.took(0.0)
    assert parcels.size(waiting=8, places=2) == 4


def test_work_is_given_up_after_three_workers(cluster: Cluster) -> None:
    """Without anything else, to see that what waits beside it is not suspected."""
    cluster.start("nannies", "--nworkers", "2")
    cluster.wait_for(2)
    with DaskWorkers(cluster.address, Expected.here()) as workers:
        workers.submit("deadly", os._exit, 1)
        for number in range(6):
            workers.submit(number, len, "a" * number)
        results: dict[Any, Any] = {}
        while len(results) < 7:
            results.update(workers.results())
    assert isinstance(results["deadly"], Lost)
    assert len(results["deadly"].workers) == 3
    assert [results[number].value for number in range(6)] == list(range(6))


def test_a_scheduler_that_ends_is_an_error_and_the_study_goes_on(
    cluster: Cluster, tmp_path: pathlib.Path
) -> None:
    cluster.start("first", "--no-nanny")
    cluster.wait_for(1)
    arguments = {**ARGUMENTS, "study": str(tmp_path / "night.db")}

    def end(trial: Trial) -> None:
        if trial.number == 5:
            cluster.scheduler.kill()
            cluster.scheduler.wait()

    with pytest.raises(OptctxError, match=r"the scheduler at tcp://.* no longer answers"):
        tune(JOB, loops(), cluster=cluster.address, on_trial=end, **arguments)
    assert told(tune(JOB, loops(), resume=True, **arguments)) == told(tune(JOB, loops(), **ARGUMENTS))


def test_a_pool_that_loses_a_process_takes_no_more_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "evaluate", deadly)
    space = parse_space(["unroll-count=1..6"])
    with (
        ProcessPoolExecutor(2) as pool,
        pytest.raises(OptctxError, match=r"the executor takes no more work .*--resume"),
    ):
        tune(JOB, space, executor=pool, sampler="grid")


def test_nothing_is_left_of_a_client_that_did_not_connect(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its finalizer would run whenever the garbage collector does, and wait for a loop that is starting."""
    from distributed import Client

    monkeypatch.setattr(dask_workers, "_CONNECTING", 0.5)
    gc.collect()
    before = sum(isinstance(each, Client) for each in gc.get_objects())
    gc.disable()
    try:
        with pytest.raises(OptctxError, match="cannot connect") as found:
            tune(Job(TINY), parse_space(["unroll-count=1,2"]), cluster="tcp://127.0.0.1:1")
        assert found.value.__context__ is None
        assert sum(isinstance(each, Client) for each in gc.get_objects()) == before
    finally:
        gc.enable()


def test_what_cannot_run_elsewhere_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    space = parse_space(["unroll-count=1,2"])
    job = Job(TINY, "default<O1>")
    monkeypatch.setattr(dask_workers, "_CONNECTING", 0.5)
    cases: list[tuple[str, dict[str, Any]]] = [
        ("expected the address of a Dask scheduler", {"cluster": "localhost"}),
        ("cannot connect to a Dask scheduler at tcp://127.0.0.1:1", {"cluster": "tcp://127.0.0.1:1"}),
        ("one at a time on one machine", {"cluster": "tcp://x:1", "objectives": (CompilationTime(),)}),
        ("found both", {"cluster": "tcp://x:1", "executor": object()}),
        (
            "leave out the pruner",
            {"cluster": "tcp://x:1", "pruner": "median", "objectives": (RunTime(harness=HARNESS),)},
        ),
    ]
    for expected, arguments in cases:
        with pytest.raises(OptctxError, match=expected):
            tune(job, space, **arguments)
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(OptctxError, match=r"pip install 'optctx\[cluster\]'"):
        tune(job, space, (Size(),), cluster="tcp://127.0.0.1:1")
