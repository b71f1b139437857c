"""Searches on a Dask cluster of which workers die and differ."""

from __future__ import annotations

import gc
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import dask
import pytest
import trustme

from optctx.engine.attach import attach
from optctx.errors import OptctxError
from optctx.lab.tuning import Study, Trial, parse_space, workers
from optctx.lab.tuning import dask as dask_module
from optctx.lab.tuning.dask import dask_executor
from tests.optctx.lab.tuning.dask_cluster import Cluster, another_library
from tests.support.processes import LISTENING, SECONDS, wait_for
from tests.support.tuning_cases import JOB, TINY, deadly, kept, loops, told, tuned, tuned_by_time

pytestmark = pytest.mark.cluster
ARGUMENTS: dict[str, Any] = {"seed": 7, "trials": 24, "timeout": 60.0}


@pytest.fixture
def cluster(tmp_path: pathlib.Path) -> Iterator[Cluster]:
    folder = tmp_path / "dask"
    folder.mkdir()
    with Cluster(folder) as cluster:
        yield cluster


def tuned_there(address: str, *arguments: Any, **settings: Any) -> Study:
    with dask_executor(address) as executor:
        return tuned(*arguments, executor=executor, **settings)


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

    there = tuned_there(cluster.address, JOB, loops(), on_trial=kill_one, **ARGUMENTS)
    assert told(there) == told(tuned(JOB, loops(), **ARGUMENTS))
    (refused,) = there.refused
    assert f"build id of LLVM: expected {attach().image.build_id}, found {other}" in refused
    cluster.workers["second"].kill()
    with pytest.raises(OptctxError, match=f"no worker can be used .*{other}"):
        tuned_there(cluster.address, JOB, loops(), **ARGUMENTS)


def test_a_trial_that_kills_every_worker_has_crashed(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.start("nannies", "--nworkers", "2")
    cluster.wait_for(2)
    monkeypatch.setattr(workers, "evaluate", deadly)
    space = parse_space(["unroll-count=1..6"])
    there = tuned_there(cluster.address, JOB, space, sampler="grid", window=6)
    here = tuned(JOB, space, sampler="grid", window=6)
    for expected, trial in zip(told(here), there.trials, strict=True):
        if trial.options["unroll-count"] == "3":
            assert trial.state == "crashed"
            assert "its worker was lost with it: KilledWorker" in trial.error
        else:
            assert told(there)[trial.number] == expected


def test_run_times_are_measured_by_workers(cluster: Cluster) -> None:
    for name in ("first", "second"):
        cluster.start(name, "--no-nanny")
    cluster.wait_for(2)
    with dask_executor(cluster.address) as executor:
        tuned_by_time(executor=executor)


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
            there = tuned_there(cluster.address, JOB, loops(), **ARGUMENTS)
        assert told(there) == told(tuned(JOB, loops(), **ARGUMENTS))
        for address in (cluster.address, cluster.address.replace("tls", "tcp")):  # without a certificate
            with pytest.raises(OptctxError, match=f"cannot connect to a Dask scheduler at {address}"):
                tuned_there(address, JOB, loops(), **ARGUMENTS)


def test_ctrl_c_keeps_what_is_done(cluster: Cluster, tmp_path: pathlib.Path) -> None:
    cluster.start("first", "--no-nanny")
    cluster.wait_for(1)
    (tmp_path / "tiny.ll").write_text(TINY)
    study = tmp_path / "night.journal"
    # The last value never ends.
    words = ["--try", "misched-limit=default,0", "--try", "unroll-count=1,2", "--sampler", "grid"]
    words += ["--timeout", "100", "--cluster", cluster.address, "--keep", str(study), "--format", "json"]
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


def test_a_scheduler_that_ends_is_an_error_and_the_study_goes_on(
    cluster: Cluster, tmp_path: pathlib.Path
) -> None:
    cluster.start("first", "--no-nanny")
    cluster.wait_for(1)
    arguments = {**ARGUMENTS, "keep": str(tmp_path / "night.journal")}

    def end(trial: Trial) -> None:
        if trial.number == 5:
            cluster.scheduler.kill()
            cluster.scheduler.wait()

    with pytest.raises(OptctxError, match=r"the executor takes no more work .*--resume"):
        tuned_there(cluster.address, JOB, loops(), on_trial=end, **arguments)
    assert told(tuned(JOB, loops(), resume=True, **arguments)) == told(tuned(JOB, loops(), **ARGUMENTS))


def test_nothing_is_left_of_a_client_that_did_not_connect(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its finalizer would run whenever the garbage collector does, and wait for a loop that is starting."""
    from distributed import Client

    monkeypatch.setattr(dask_module, "_CONNECTING", 0.5)
    gc.collect()
    before = sum(isinstance(each, Client) for each in gc.get_objects())
    gc.disable()
    try:
        with pytest.raises(OptctxError, match="cannot connect") as found:
            tuned_there("tcp://127.0.0.1:1", JOB, loops())
        assert found.value.__context__ is None
        assert sum(isinstance(each, Client) for each in gc.get_objects()) == before
    finally:
        gc.enable()


def test_what_is_no_cluster_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OptctxError, match="expected the address of a Dask scheduler"):
        tuned_there("localhost", JOB, loops())
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(OptctxError, match=r"pip install 'optctx\[cluster\]'"):
        tuned_there("tcp://127.0.0.1:1", JOB, loops())
