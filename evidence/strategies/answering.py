"""A helper process that answers one message at a time."""

from __future__ import annotations

import os
import subprocess
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from optctx.children.death import cause_of_end, printed_to
from optctx.children.frames import Reader, encode, write_all
from optctx.children.spawning import end_helper, popen
from optctx.errors import OptctxError
from optctx.locks import lock_left_behind

__all__ = ["AnsweringHelper"]

R = TypeVar("R")


class AnsweringHelper:
    """Runs `main` of a module, which answers each frame on standard input. Not for two threads at once."""

    def __init__(self, module: str, grace: float) -> None:
        """`grace`: seconds that the process may take to end."""
        self._grace = grace
        self._printed = tempfile.TemporaryFile()  # noqa: SIM115  # lives as long as the process
        self._helper: subprocess.Popen[bytes] = _started(module, self._printed.fileno())

    def ask(self, message: object, gives: type[R]) -> R:
        """Its answer. Raises OptctxError with the cause if the process has ended."""
        assert self._helper.stdin is not None
        assert self._helper.stdout is not None
        try:
            write_all(self._helper.stdin.fileno(), encode(message))
            for answer in Reader(self._helper.stdout.fileno(), gives):
                return answer
        except OSError:
            pass
        raise OptctxError(cause_of_end(self._helper.wait(), printed_to(self._printed.fileno())))

    def kill(self) -> None:
        """End the process now, from any thread. It is still to be closed."""
        self._helper.kill()

    def close(self) -> None:
        """End the process."""
        assert self._helper.stdin is not None
        assert self._helper.stdout is not None
        self._helper.stdin.close()
        end_helper(self._helper, self._grace)
        self._helper.stdout.close()
        self._printed.close()


def _started(module: str, printed: int) -> subprocess.Popen[bytes]:
    """Start a helper on a thread that does not end before this process does: the kernel ends it with that."""
    global _spawner
    if threading.current_thread() is threading.main_thread():
        return popen(module, printed)
    with _making:
        if _spawner is None:
            _spawner = ThreadPoolExecutor(1, "optctx-spawner")
        done = _spawner.submit(popen, module, printed)
    return done.result()


def _forget() -> None:
    """In a forked child, which has no such thread."""
    global _spawner
    _spawner = None


_spawner: ThreadPoolExecutor | None = None
_making = lock_left_behind()
os.register_at_fork(after_in_child=_forget)
