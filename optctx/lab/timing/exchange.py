"""A helper process that one thread exchanges messages with."""

from __future__ import annotations

import os
import select
import subprocess
import time
from typing import Any, TypeVar

from optctx.children.death import printed_to
from optctx.children.spawning import STOP, end_helper, start_helper
from optctx.lab.timing.frames import Decoder, encode, write_all

__all__ = ["Exchange"]

T = TypeVar("T", bound="Exchange")

_CHUNK = 1 << 20  # bytes read at once
_GRACE = 10.0  # seconds that the helper has to end


class Exchange:
    """A helper process, with messages to and from it. A context manager: leaving it ends the helper."""

    def __init__(self, module: str) -> None:
        self._module = module
        self._printed = -1  # memory file that takes its standard error
        self._helper: subprocess.Popen[bytes] | None = None
        self._decoder = Decoder()

    def __enter__(self: T) -> T:
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

    def receive(self, seconds: float | None = None) -> list[Any]:
        """Wait for messages. Returns an empty list if the helper has ended.

        Raises TimeoutError if no complete message arrives in `seconds`; None waits forever.
        """
        helper = self._running()
        assert helper.stdout is not None
        answers = helper.stdout.fileno()
        end = None if seconds is None else time.monotonic() + seconds
        while True:
            wait = None if end is None else max(0.0, end - time.monotonic())
            if not select.select([answers], [], [], wait)[0]:
                raise TimeoutError
            if not (data := os.read(answers, _CHUNK)):
                return []
            if messages := self._decoder.feed(data):
                return messages

    def ended(self) -> tuple[int, str]:
        """Wait for a helper that ends by itself. Returns (exit status, or minus the signal; its output)."""
        return self._running().wait(), printed_to(self._printed)

    def _running(self) -> subprocess.Popen[bytes]:
        assert self._helper is not None, "outside of its `with` block"
        return self._helper
