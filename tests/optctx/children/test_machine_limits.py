"""Limits that batch systems and `ulimit` set: each command works under them, or says that it cannot."""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import pathlib
import resource
import signal
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from optctx.children.death import End
from optctx.compiling import FreshProcess, Job, Result, compile_job, llvm_pool
from optctx.lab.command.main import main
from tests.support.alone import alone
from tests.support.command_lines import several
from tests.support.endless import LIST, SCALED, endless, reached
from tests.support.installed import SANITIZED
from tests.support.ir_texts import SCALE, X86
from tests.support.processes import SECONDS, wait_for
from tests.support.rows import rows
from tests.support.runs import bitcode

JOB = Job(SCALE, triple=X86)
_PR_CAPBSET_DROP, _CAP_SYS_RESOURCE = 24, 24


LARGE_ENOUGH = {
    resource.RLIMIT_CPU: 100,
    resource.RLIMIT_NOFILE: 64,
    **({} if SANITIZED else {resource.RLIMIT_AS: 2_000_000 << 10}),
}


def limit() -> None:
    """Limit this process for good: root, too, may not raise the limits again."""
    ctypes.CDLL(None).prctl(_PR_CAPBSET_DROP, _CAP_SYS_RESOURCE, 0, 0, 0)  # counts from exec on
    for kind, each in LARGE_ENOUGH.items():
        resource.setrlimit(kind, (each, each))


def test_commands_work_under_limits_that_are_large_enough(tmp_path: pathlib.Path) -> None:
    (tmp_path / "module.ll").write_text(SCALE)
    (tmp_path / "module.bc").write_bytes(bitcode(SCALE))
    commands = ["sweep module.ll --try unroll-count=1,2 --verify --format json", "record module.bc"]
    verified, recorded = several(map(str.split, commands), cwd=tmp_path, preexec_fn=limit)
    assert [row["agrees"] for row in json.loads(verified.out)] == [True, True]
    assert (verified.status, verified.err) == (0, "")
    assert (recorded.status, recorded.err) == (0, "")


def test_a_job_that_gets_no_process_is_lost_and_another_is_not(tmp_path: pathlib.Path) -> None:
    pipe = endless(tmp_path)
    waits = replace(JOB, passes=SCALED, options=(f"-{LIST}={pipe}",))
    with FreshProcess() as fresh, ThreadPoolExecutor(1) as pool:
        server = llvm_pool().process
        under_way = pool.submit(fresh.compile, waits)
        with reached(pipe):
            most = len(os.listdir(f"/proc/{server}/fd"))
            resource.prlimit(server, resource.RLIMIT_NOFILE, (most, most))
            lost = fresh.compile(JOB)
        assert (lost.end, lost.error) == (
            "lost",
            "no process can be started for it: Too many open files",
        )
        assert under_way.result(SECONDS).error is None
        os.kill(server, signal.SIGKILL)  # its limit cannot be raised again
        wait_for(lambda: llvm_pool().process != server)
        assert fresh.compile(JOB).error is None


@alone
def test_where_no_process_can_be_started_a_job_is_lost() -> None:
    """LLVM's message about a module is evidence: without a process there is no verdict."""
    with FreshProcess() as fresh:
        assert fresh.compile(JOB).error is None
        llvm_pool().close()
        most = len(os.listdir("/proc/self/fd"))
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        result = fresh.compile(JOB)
    lost = "no process can be started: Too many open files"
    assert (result.end, result.error) == ("lost", lost)
    asked = compile_job(replace(JOB, cpu="znver3"))
    assert asked.error == f"cannot compile for the processor 'znver3': LLVM could not be asked: {lost}"


@rows("end", ["lost", "killed", "timed out"])
def test_a_comparison_that_could_not_be_made_is_no_difference(
    end: End, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    class Ended(FreshProcess):
        def compile(self, job: Job, *, timeout: float | None = None) -> Result:
            return Result(error="it ended early", end=end)

    monkeypatch.setattr(importlib.import_module("optctx.lab.experiment"), "FreshProcess", Ended)
    file = tmp_path / "module.ll"
    file.write_text(SCALE)
    assert main(["sweep", str(file), "--try", "unroll-count=1,2", "--verify"]) == 2
    out, said = capfd.readouterr()
    assert "DIFFERS" not in out
    assert out.count("not compared") == 2
    assert "unroll-count=1: not compared: it ended early" in said
