"""Processes of a soak, watched from outside: deaths, hangs, and the memory that they take."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from tests.long.soak.board import Board
from tests.long.soak.worker import FINISHED

__all__ = ["Plan", "StockProcess", "WatchedWorker", "resident"]

_GRACE = 2.0  # seconds for a dump of stacks
_KEPT = 4000  # characters of a dump or of standard error that a finding shows


@dataclass(frozen=True)
class Plan:
    """What a worker does: see `tests.long.soak.worker`."""

    folder: Path
    seed: int
    threads: int
    seconds: float
    operations: int
    kinds: list[str]


class WatchedWorker:
    """One worker process."""

    def __init__(self, plan: Plan, patience: float) -> None:
        """`patience`: seconds that one operation may take."""
        self._plan = plan
        self._patience = patience
        (plan.folder / "wrong").write_text("")
        self.board = Board(plan.folder / "board", plan.threads)
        command = [sys.executable, "-m", "tests.long.soak.worker", str(plan.folder), "--seed", str(plan.seed)]
        command += ["--threads", str(plan.threads), "--seconds", str(plan.seconds)]
        command += ["--operations", str(plan.operations), "--kinds", ",".join(plan.kinds)]
        path = os.pathsep.join(entry for entry in sys.path if entry)
        environment = {**os.environ, "PYTHONPATH": path}
        with (plan.folder / "errors").open("wb") as errors:
            self._process = subprocess.Popen(command, stderr=errors, env=environment, start_new_session=True)
        self._started = time.monotonic()

    @property
    def pid(self) -> int:
        return self._process.pid

    def poll(self) -> str | None:
        """None while it runs; then what was found, an empty string if nothing."""
        status = self._process.poll()
        if status is None:
            late = self.board.oldest() > self._patience
            starting = time.monotonic() - self._started > self._plan.seconds + 2 * self._patience
            return self._hang() if late or starting else None
        self._clean_up()
        if status == FINISHED:
            return ""
        wrong = (self._plan.folder / "wrong").read_text()
        if wrong:
            return f"WRONG {wrong}{self._words()}"
        how = signal.Signals(-status).name if status < 0 else f"exit status {status}"
        return f"CRASH {how}, {self._words()}"

    def _hang(self) -> str:
        os.kill(self.pid, signal.SIGUSR1)
        time.sleep(_GRACE)
        self._clean_up()
        self._process.wait()
        return f"HANG of more than {self._patience:g} s, {self._words()}"

    def _clean_up(self) -> None:
        """Kills the worker and what it has started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)

    def _words(self) -> str:
        stacks = (self._plan.folder / "stacks").read_text(errors="replace")[-_KEPT:]
        errors = (self._plan.folder / "errors").read_text(errors="replace")[-_KEPT:]
        again = f"--seed {self._plan.seed} --threads {self._plan.threads} --only {','.join(self._plan.kinds)}"
        return f"repeat it with {again}; the last operations were\n{self.board}\n{errors}{stacks}"


class StockProcess:
    """llvmlite without optctx, compiling the same modules on as many threads."""

    def __init__(self, threads: int, seed: int) -> None:
        command = [sys.executable, "-m", "tests.long.soak.stock", "soak", str(threads), str(seed)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    @property
    def pid(self) -> int:
        return self._process.pid

    def finished(self) -> int:
        """Compilations so far."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def stop(self) -> None:
        self._process.communicate()  # closes its input, which ends it


def resident(pid: int) -> int:
    """Bytes of memory that a process has in use; 0 if it has ended."""
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as statm:
            return int(statm.read().split()[1]) * resource.getpagesize()
    except OSError:
        return 0
