"""Cases in a child process, so that an exit, a signal, a hang and anything that is printed are seen."""

from __future__ import annotations

import os
import pickle
import signal
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass

from optctx.children.answers import Talk
from optctx.children.child import Channel
from optctx.children.death import Death
from optctx.children.limits import Limits
from optctx.children.pool import Pool
from optctx.compiling import initialise_targets
from optctx.engine.attach import attach
from tests.long.fuzz.case import Case, Report, perform

__all__ = ["Seen", "Watched", "attached"]

_STATES_EVERY = 50  # cases between looks at every process-wide value, which take as long as 50 cases
_MEMORY = 8 << 30  # bytes that a case may add
_KEPT = 2000  # characters of what was printed


@dataclass(frozen=True)
class Seen:
    """What became of a case: a report, or the stage that it did not survive and how; what it printed."""

    report: Report | None
    stage: str
    ended: str = ""
    printed: str = ""


class Watched:
    """Runs cases one after the other in a child. After a death the next case gets a new one.

    A context manager.
    """

    def __init__(self, seconds: float, prepare: Callable[..., None], *arguments: str) -> None:
        """`seconds`: that a case may take. `prepare`: what children find done."""
        self._seconds = seconds
        self._prepare = prepare, arguments
        self._talk: Talk[bytes] | None = None
        self._done = 0

    def __enter__(self) -> Watched:
        with ExitStack() as stack:
            folder = stack.enter_context(tempfile.TemporaryDirectory())  # some options write files
            pool = Pool(self._prepare[0], *self._prepare[1], directory=folder)
            self._pool = stack.enter_context(pool)
            self._kept = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._kept.close()

    def restart(self) -> None:
        """The next case runs in a new child."""
        if self._talk is not None:
            self._talk.line.kill()
        self._talk, self._done = None, 0

    def run(self, case: Case, *, thoroughly: bool = False) -> Seen:
        """`thoroughly`: compares every process-wide value before and after, as happens now and then."""
        if self._talk is None:
            assert self._pool.process  # has prepared: that is none of the case's time
            self._talk = self._pool.talk(serve, gives=bytes, limits=Limits(memory=_MEMORY))
        self._done += 1
        thoroughly = thoroughly or self._done % _STATES_EVERY == 0
        self._talk.line.tell(pickle.dumps((case, thoroughly)))
        stage, late, deadline = "starting", "", time.monotonic() + self._seconds
        while True:
            try:
                heard = self._talk.hear(None if late else max(0.0, deadline - time.monotonic()))
            except TimeoutError:
                late = f"a hang of {self._seconds:g} s"
                self._talk.line.kill()
                continue
            if isinstance(heard, Death):
                self.restart()
                return Seen(None, stage, late or _how(heard.status), heard.printed[-_KEPT:])
            answer = pickle.loads(heard)
            if not isinstance(answer, str):
                return Seen(answer[0], stage, "", answer[1])
            stage = answer


def _how(status: int) -> str:
    return signal.Signals(-status).name if status < 0 else f"an exit with status {status}"


def attached() -> None:
    """Prepare a server."""
    initialise_targets()
    attach()


def serve(_: None, channel: Channel) -> None:
    """The child: works until it is killed, or dies of a case."""
    seen = 0
    for given in channel.hear(bytes):
        case, thoroughly = pickle.loads(given)
        report = perform(case, lambda stage: channel.send(pickle.dumps(stage)), thoroughly=thoroughly)
        printed = os.pread(channel.printed, _KEPT, seen).decode(errors="replace")
        seen = os.fstat(channel.printed).st_size
        channel.send(pickle.dumps((report, printed)))
