"""A helper process that answers one message at a time."""

from __future__ import annotations

import os
import subprocess
from typing import TypeVar

from optctx.children.death import last_line, printed_to
from optctx.children.frames import FrameError, Reader, encode, write_all
from optctx.children.spawning import STOP, end_helper, start_helper
from optctx.errors import OptctxError

__all__ = ["Exchange"]

T = TypeVar("T")
_GRACE = 10.0  # seconds that the helper has to end


class Exchange:
    """A helper process, for one thread. A context manager: leaving it ends the helper."""

    def __init__(self, module: str) -> None:
        """`module`: has a function `main`, which answers frames on standard input."""
        self._module = module
        self._printed = -1  # memory file that takes its standard error
        self._helper: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Exchange:
        self._printed = os.memfd_create("printed")
        try:
            self._helper = start_helper(self._module, printed=self._printed)
        except BaseException:
            os.close(self._printed)
            raise
        return self

    def __exit__(self, *error: object) -> None:
        helper = self._running()
        helper.send_signal(STOP)
        end_helper(helper, _GRACE)
        assert helper.stdin is not None
        assert helper.stdout is not None
        helper.stdin.close()
        helper.stdout.close()
        self._helper = None
        os.close(self._printed)

    def ask(self, message: object, gives: type[T]) -> T:
        """Send a message and wait for its answer. Raises OptctxError if the helper has ended."""
        helper = self._running()
        assert helper.stdin is not None
        assert helper.stdout is not None
        try:
            write_all(helper.stdin.fileno(), encode(message))
            for answer in Reader(helper.stdout.fileno(), gives):
                return answer
        except BrokenPipeError:
            pass
        except FrameError:
            helper.kill()
        why = f"{helper.wait()}{last_line(printed_to(self._printed))}"
        raise OptctxError(f"the helper process of the measurement ended with status {why}")

    def _running(self) -> subprocess.Popen[bytes]:
        assert self._helper is not None, "outside of its `with` block"
        return self._helper
