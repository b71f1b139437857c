"""The server of a pool, as a process of its own."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any

from optctx.children.death import Death, printed_to
from optctx.children.frames import CHUNK, FrameError, Frames, write_all
from optctx.children.python import python_command
from optctx.children.spawning import ENDING
from optctx.errors import EndedEarlyError

# The server ignores what ends a whole group of processes: the one that started it handles that. Until then
# these signals are blocked, because Python's own start would print a traceback. It does nothing for a process
# that has ended while it was imported.
_START = (
    "import os, signal; "
    "[signal.signal(each, signal.SIG_IGN) for each in {ending}]; "
    "signal.pthread_sigmask(signal.SIG_UNBLOCK, {ending}); "
    "from optctx.children.server import main; os.getppid() == {parent} or os._exit(1); sys.exit(main())"
)
GRACE = 10.0  # seconds that a server has to end
READER = "optctx-pool"  # the name of the threads that read


def popen(printed: int) -> subprocess.Popen[bytes]:
    """Start a server with pipes to its standard input and output, and this descriptor for what it prints.

    The kernel ends it with the thread that calls this.
    """
    text = _START.format(parent=os.getpid(), ending=list(map(int, ENDING)))
    pipe, before = subprocess.PIPE, signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    try:
        return subprocess.Popen(python_command(text), bufsize=0, stdin=pipe, stdout=pipe, stderr=printed)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class ServerProcess:
    """The server of a pool as a process of its own, with one thread that reads and one that writes.

    Signals arrive on neither thread. So an interrupt of the caller loses nothing that they do.
    """

    def __init__(self, heard: Callable[[bytes], None], ended: Callable[[Death], None]) -> None:
        """Take two functions, for the thread that reads. `heard` takes the body of each frame, and raises
        FrameError for one that is not expected, which ends the server. `ended` takes its end.
        """
        self._heard, self._ended = heard, ended
        self._process: subprocess.Popen[bytes] | None = None
        self._orders: SimpleQueue[bytes | None] = SimpleQueue()
        self._started: Future[None] = Future()

    def start(self) -> None:
        """Start the process.

        Raises OSError if none can be started, and EndedEarlyError if no thread can (ulimit -u, -v).
        """
        try:
            threading.Thread(target=self._work, name=READER, daemon=True).start()
        except RuntimeError as error:
            self._fail(_no_thread(error))
        self._started.result()

    def tell(self, order: bytes) -> None:
        """Have a frame written."""
        self._orders.put(order)

    def close(self) -> None:
        """Tell it that there is no more."""
        self._orders.put(None)

    def kill(self) -> None:
        """End it with its children."""
        if self._process is not None:
            self._process.kill()
        self._orders.put(None)

    def leave(self) -> None:
        """In a child of fork: leave the process to the parent, which ends it by closing the only pipe."""
        if process := self._process:
            process.returncode = 0  # it is not a child of this process
            for file in (process.stdin, process.stdout):
                if file is not None:
                    file.close()

    def _fail(self, error: BaseException) -> None:
        self._ended(Death("lost", 0, ""))
        self._started.set_exception(error)

    def _work(self) -> None:
        """Start the process, which the kernel ends with this thread. Hear it until its end."""
        signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
        try:
            with open(os.memfd_create("printed"), "rb") as printed:
                process = self._process = self._start_process(printed.fileno())
                self._started.set_result(None)
                self._hear(process, printed.fileno())
        except BaseException as error:
            if self._started.done():
                raise
            self._fail(error)

    def _start_process(self, printed: int) -> subprocess.Popen[bytes]:
        process = popen(printed)
        try:
            threading.Thread(target=self._write, args=(process.stdin,), daemon=True).start()
        except RuntimeError as error:
            process.kill()
            process.communicate()
            raise _no_thread(error) from None
        return process

    def _hear(self, process: subprocess.Popen[bytes], printed: int) -> None:
        assert process.stdout is not None
        try:
            with process.stdout as answers:
                self._relay(answers.fileno())
        except FrameError:
            process.kill()
        finally:
            self.close()
            try:
                process.wait(GRACE)
            except subprocess.TimeoutExpired:
                process.kill()  # the kernel then kills its children
                process.wait()
            self._ended(Death("exited", process.returncode, printed_to(printed)))

    def _relay(self, answers: int) -> None:
        frames = Frames()
        while data := os.read(answers, CHUNK):
            for body in frames.feed(data):
                self._heard(body)

    def _write(self, stdin: Any) -> None:
        with stdin, contextlib.suppress(OSError):  # the server has ended: the other thread tells
            self._write_orders(stdin.fileno())

    def _write_orders(self, orders: int) -> None:
        while (data := self._orders.get()) is not None:
            write_all(orders, data)


def _no_thread(error: RuntimeError) -> EndedEarlyError:
    return EndedEarlyError(f"cannot listen to a fresh process: {error}")
