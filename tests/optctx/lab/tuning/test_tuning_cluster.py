"""Searches on a Dask cluster of which workers die and differ, of processes on this machine."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from typing import Any

import dask
import llvmlite
import pytest
import trustme

from optctx.engine.attach import attach
from optctx.errors import OptctxError
from optctx.lab.tuning import Study, Trial, parse_space, workers
from optctx.lab.tuning import dask as dask_module
from optctx.lab.tuning.dask import dask_executor
from tests.support.interrupted_commands import STATUS, interrupted
from tests.support.processes import SECONDS, wait_for
from tests.support.tuning_cases import JOB, TINY, deadly, kept, loops, told, tuned, tuned_by_time

ROOT = str(pathlib.Path(__file__).parents[4])
pytestmark = pytest.mark.cluster
ARGUMENTS: dict[str, Any] = {"seed": 7, "trials": 24, "timeout": 60.0}


class Cluster:
    """A scheduler and its workers, by name. A context manager: leaving it kills what is left.

    `protocol`: tcp, or tls with certificates that `environment` names, as Dask has it.
    """

    def __init__(
        self, folder: pathlib.Path, protocol: str = "tcp", environment: Mapping[str, str] | None = None
    ) -> None:
        self._folder = folder
        self._protocol = protocol
        self._environment = dict(environment or {})
        self._processes = contextlib.ExitStack()
        self.workers: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Cluster:
        self.address = f"{self._protocol}://127.0.0.1:{self._start_scheduler()}"
        return self

    def __exit__(self, *error: object) -> None:
        self._processes.close()

    def start(self, name: str, *words: str, modules: pathlib.Path | None = None) -> None:
        """Start a worker of one thread. `modules`: a folder whose modules it finds first."""
        path = os.pathsep.join([*([str(modules)] if modules else []), ROOT])
        command = ["distributed.cli.dask_worker", self.address, "--nthreads", "1", "--name", name]
        self.workers[name] = self._run(*command, "--no-dashboard", *words, PYTHONPATH=path)

    def wait_for(self, count: int) -> None:
        """Until so many workers are there."""
        from distributed import Client

        with Client(self.address, set_as_default=False) as client:
            client.wait_for_workers(count, timeout=SECONDS)

    def _start_scheduler(self) -> int:
        file = self._folder / "scheduler.json"
        words = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(file)]
        words += ["--protocol", self._protocol]
        given = {"PYTHONPATH": ROOT, "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "1"}
        self.scheduler = self._run("distributed.cli.dask_scheduler", *words, **given)
        wait_for(lambda: file.exists() and file.read_text().endswith("}"))
        return int(json.loads(file.read_text())["address"].rpartition(":")[2])

    def _run(self, module: str, *words: str, **environment: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-m", module, *words],
            cwd=self._folder,
            env={**os.environ, **self._environment, **environment},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._processes.callback(_end, process)
        return process


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def another_library(folder: pathlib.Path) -> str:
    """Make a package llvmlite there whose library is another one by its build id, which is returned."""
    source = pathlib.Path(llvmlite.__file__).parent
    shutil.copytree(source, folder / "llvmlite", ignore=shutil.ignore_patterns("*.so", "tests"))
    code = bytearray((source / "binding" / "libllvmlite.so").read_bytes())
    build_id = bytes.fromhex(attach().image.build_id)
    place = code.find(build_id)
    assert place > 0
    code[place] ^= 0xFF
    (folder / "llvmlite" / "binding" / "libllvmlite.so").write_bytes(code)
    return bytes([build_id[0] ^ 0xFF, *build_id[1:]]).hex()


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


def test_ctrl_c_ends_a_command_whose_last_trials_never_end(cluster: Cluster, tmp_path: pathlib.Path) -> None:
    cluster.start("first", "--no-nanny")
    cluster.wait_for(1)
    (tmp_path / "tiny.ll").write_text(TINY)
    study = tmp_path / "night.journal"
    words = ["tune", str(tmp_path / "tiny.ll"), "--cluster", cluster.address, "--keep", str(study)]
    words += ["--try", "misched-limit=default,0", "--try", "unroll-count=1,2", "--sampler", "grid"]
    words += ["--timeout", "100", "--format", "json"]
    ended = interrupted(words, tmp_path, lambda _: wait_for(lambda: kept(study) >= 1))
    assert ended.status == STATUS[signal.SIGINT]
    assert "go on with --resume" in ended.err
    assert 1 <= len(ended.data["trials"]) == kept(study) <= 2


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
