"""A Dask cluster of processes on this machine, and a copy of llvmlite that is another library."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping

import llvmlite

from optctx.engine.attach import attach
from tests.support.processes import SECONDS, wait_for

ROOT = str(pathlib.Path(__file__).parents[4])


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
        self._processes.enter_context(_killed(process))
        return process


@contextlib.contextmanager
def _killed(process: subprocess.Popen[bytes]) -> Iterator[None]:
    try:
        yield
    finally:
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
