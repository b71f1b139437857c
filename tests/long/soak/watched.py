"""Processes of a soak, watched from outside: deaths, hangs, and the memory that they take."""

from __future__ import annotations

import os
import resource
import signal
import time
from collections import deque

from optctx.children.answers import Talk
from optctx.children.death import Death
from optctx.children.pool import Pool
from optctx.compiling import llvm_pool
from tests.long.soak.worker import News, Plan, compile_on_threads, work

__all__ = ["StockProcess", "WatchedWorker", "resident"]

HISTORY = 12  # operations of a thread that are kept
_GRACE = 2.0  # seconds for a dump of stacks
_KEPT = 4000  # characters of what it has printed that a finding shows


class _Thread:
    """What a thread of a worker has been doing."""

    def __init__(self) -> None:
        self.begun: deque[News] = deque(maxlen=HISTORY)
        self.since = 0.0  # time.monotonic() of the last beginning
        self.ended = News("ends")

    def is_late(self, patience: float) -> bool:
        return bool(self.begun) and self.begun[-1].number > self.ended.number and self._age > patience

    @property
    def _age(self) -> float:
        return time.monotonic() - self.since

    def __str__(self) -> str:
        return ", ".join(f"{each.number} {each.words}" for each in self.begun)


class WatchedWorker:
    """One worker process."""

    def __init__(self, pool: Pool, plan: Plan, patience: float) -> None:
        """`patience`: seconds that one operation may take."""
        self._plan, self._patience = plan, patience
        self._talk: Talk[News] = pool.talk(work, plan, gives=News)
        self._started = time.monotonic()
        self._threads = [_Thread() for _ in range(plan.threads)]
        self._wrong = ""
        self._finished = False
        self.pid = 0

    @property
    def operations(self) -> int:
        return sum(each.ended.number for each in self._threads)

    @property
    def compilations(self) -> int:
        return sum(each.ended.compiled for each in self._threads)

    def watch(self, seconds: float) -> str | None:
        """Listen for so long. None if it runs on; else what was found, an empty string if nothing."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            try:
                heard = self._talk.hear(left)
            except TimeoutError:
                break
            if isinstance(heard, Death):
                return self._judged(heard)
            self._take(heard)
        late = any(each.is_late(self._patience) for each in self._threads)
        starting = time.monotonic() - self._started > self._plan.seconds + 2 * self._patience
        return self._hang() if late or starting else None

    def _take(self, news: News) -> None:
        thread = self._threads[news.thread]
        match news.what:
            case "started":
                self.pid = news.number
            case "begins":
                thread.begun.append(news)
                thread.since = time.monotonic()
            case "ends":
                thread.ended = news
            case "wrong":
                kind = thread.begun[-1].words
                where = f"seed {self._plan.seed}, thread {news.thread}, operation {news.number}, {kind}"
                self._wrong += f"{where}: {news.words}\n"
            case "finished":
                self._finished = True

    def _judged(self, death: Death) -> str:
        if self._finished and not death.status:
            return ""
        if self._wrong:
            return f"WRONG {self._wrong}{self._words(death)}"
        how = signal.Signals(-death.status).name if death.status < 0 else f"exit status {death.status}"
        return f"CRASH {how}, {self._words(death)}"

    def _hang(self) -> str:
        if self.pid:
            os.kill(self.pid, signal.SIGUSR1)  # faulthandler
            time.sleep(_GRACE)
        self._talk.line.kill()
        while not isinstance(heard := self._talk.hear(), Death):
            self._take(heard)
        return f"HANG of more than {self._patience:g} s, {self._words(heard)}"

    def _words(self, death: Death) -> str:
        plan = self._plan
        again = f"--seed {plan.seed} --threads {plan.threads} --only {','.join(plan.kinds)}"
        doing = "".join(f"  thread {number}: {each}\n" for number, each in enumerate(self._threads))
        return f"repeat it with {again}; the last operations were\n{doing}{death.printed[-_KEPT:]}"


class StockProcess:
    """llvmlite without optctx, compiling the same modules on as many threads."""

    def __init__(self, threads: int, seed: int) -> None:
        self._talk: Talk[News] = llvm_pool().talk(compile_on_threads, threads, seed, gives=News)
        self.pid = self._heard().number

    def finished(self) -> int:
        """Compilations so far."""
        self._talk.line.tell(0)
        return self._heard().compiled

    def _heard(self) -> News:
        heard = self._talk.hear()
        assert isinstance(heard, News), heard
        return heard

    def stop(self) -> None:
        self._talk.line.kill()


def resident(pid: int) -> int:
    """Bytes of memory that a process has in use; 0 if it has ended."""
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as statm:
            return int(statm.read().split()[1]) * resource.getpagesize()
    except OSError:
        return 0
