"""Limits that batch systems and `ulimit` set: each command works under them, or says that it cannot."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib
import json
import os
import pathlib
import re
import resource
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from optctx.children.pool import Pool
from optctx.compiling import FreshProcess, Job, Result, compile_job, llvm_pool
from optctx.lab.command.main import main
from tests.support.alone import alone
from tests.support.command_lines import Ended, several
from tests.support.endless import LIST, SCALED, endless, reached
from tests.support.installed import SANITIZED
from tests.support.ir_texts import SCALE, X86
from tests.support.processes import SECONDS, wait_for, wait_until_asleep
from tests.support.rows import rows
from tests.support.runs import bitcode

JOB = Job(SCALE, triple=X86)
_PR_CAPBSET_DROP, _CAP_SYS_RESOURCE = 24, 24


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A module as text and as bitcode."""
    folder = tmp_path_factory.mktemp("modules")
    (folder / "module.ll").write_text(SCALE)
    (folder / "module.bc").write_bytes(bitcode(SCALE))
    return folder


def limit(most: dict[int, int]) -> None:
    """Limit this process for good: root, too, may not raise the limits again."""
    ctypes.CDLL(None).prctl(_PR_CAPBSET_DROP, _CAP_SYS_RESOURCE, 0, 0, 0)  # counts from exec on
    for kind, each in most.items():
        resource.setrlimit(kind, (each, each))


def limited(most: dict[int, int], folder: pathlib.Path, *commands: str) -> list[Ended]:
    """How each command ends, all in one process with these limits."""
    return several(map(str.split, commands), cwd=folder, preexec_fn=functools.partial(limit, most))


LARGE_ENOUGH = {
    resource.RLIMIT_CPU: 100,
    resource.RLIMIT_NOFILE: 64,
    **({} if SANITIZED else {resource.RLIMIT_AS: 2_000_000 << 10}),
}


def test_commands_work_under_limits_that_are_large_enough(folder: pathlib.Path) -> None:
    verified, recorded = limited(
        LARGE_ENOUGH,
        folder,
        "sweep module.ll --try unroll-count=1,2 --verify --format json",
        "record module.bc",
    )
    assert [row["agrees"] for row in json.loads(verified.out)] == [True, True]
    assert (verified.status, verified.err) == (0, "")
    assert (recorded.status, recorded.err) == (0, "")


def test_what_llvm_prints_does_not_fit_into_a_file(folder: pathlib.Path) -> None:
    """Its message about the module is evidence. Where it is cut, there is no verdict."""
    [ended] = limited({resource.RLIMIT_FSIZE: 0}, folder, "sweep module.ll --try unroll-count=1 --verify")
    cut = "what LLVM prints is longer than a file may be here (ulimit -f)"
    assert (ended.status, ended.err) == (2, f"optctx: cannot read module.ll: {LOST}{cut}\n")


LOST = "the fresh process could not compile: "


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
            f"{LOST}no process can be started for it: Too many open files",
        )
        assert under_way.result(SECONDS).error is None
        os.kill(server, signal.SIGKILL)  # its limit cannot be raised again
        wait_for(lambda: llvm_pool().process != server)
        assert fresh.compile(JOB).error is None


@alone
def test_where_no_process_can_be_started_a_job_is_lost() -> None:
    lost = f"{LOST}no process can be started: Too many open files"
    most = len(os.listdir("/proc/self/fd"))
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with FreshProcess() as fresh:
        result = fresh.compile(JOB)
    assert (result.end, result.error) == ("lost", lost)
    asked = compile_job(replace(JOB, cpu="znver3"))
    assert asked.error == f"cannot compile for the processor 'znver3': LLVM could not be asked: {lost}"


def killed(pool: Pool) -> None:
    """Kill its server once this thread has asked it, and waits. Several threads may do so."""
    process, asks = pool.process, threading.get_native_id()

    def kill() -> None:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # another one has killed it
            wait_until_asleep(asks)
            os.kill(process, signal.SIGKILL)

    os.kill(process, signal.SIGSTOP)
    threading.Thread(target=kill).start()


# Comparisons that cannot be made.


class Killed(FreshProcess):
    """One whose server is killed, as the kernel does where memory runs out."""

    def compile(self, job: Job, *, timeout: float | None = None) -> Result:
        killed(llvm_pool())
        return super().compile(job, timeout=timeout)


class Late(FreshProcess):
    """One in which no job ends in time."""

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**{**arguments, "timeout": 1e-6})


@rows(
    ("kind", "words"),
    [
        (Killed, "the helper process ended with status -9"),
        (Late, "took longer than 1e-06 s"),
    ],
)
def test_a_comparison_that_could_not_be_made_is_no_difference(
    kind: type[FreshProcess],
    words: str,
    folder: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(importlib.import_module("optctx.lab.experiment"), "FreshProcess", kind)
    assert main(["sweep", str(folder / "module.ll"), "--try", "unroll-count=1,2", "--verify"]) == 2
    out, said = capfd.readouterr()
    assert "DIFFERS" not in out
    assert out.count("not compared") == 2
    assert re.search(f"unroll-count=1: not compared: .*{words}", said)
