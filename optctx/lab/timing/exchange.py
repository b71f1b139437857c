"""A helper process that one thread exchanges messages with."""

from __future__ import annotations

import os
import subprocess
from typing import TypeVar

from optctx.children.death import printed_to
from optctx.children.frames import CHUNK, Frames, decode, encode, write_all
from optctx.children.spawning import STOP, end_helper, start_helper

__all__ = ["Exchange"]

T = TypeVar("T")

_GRACE = 10.0  # seconds that the helper has to end


class Exchange:
    """A helper process, with messages to and from it. A context manager: leaving it ends the helper."""

    def __init__(self, module: str) -> None:
        self._module = module
        self._printed = -1  # memory file that takes its standard error
        self._helper: subprocess.Popen[bytes] | None = None
        self._frames = Frames()

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

    def send(self, message: object) -> None:
        """Send a message. Raises BrokenPipeError if the helper has ended."""
        helper = self._running()
        assert helper.stdin is not None
        write_all(helper.stdin.fileno(), encode(message))

    def receive(self, kind: type[T]) -> T | None:
        """Wait for a message. Returns None if the helper has ended. Raises FrameError for another message."""
        helper = self._running()
        assert helper.stdout is not None
        while data := os.read(helper.stdout.fileno(), CHUNK):
            for body in self._frames.feed(data):
                return decode(body, kind)
        return None

    def ended(self) -> tuple[int, str]:
        """Wait for a helper that ends by itself. Returns (exit status, or minus the signal; its output)."""
        return self._running().wait(), printed_to(self._printed)

    def _running(self) -> subprocess.Popen[bytes]:
        assert self._helper is not None, "outside of its `with` block"
        return self._helper
