"""The helper process of a sweep, as seen from the process that asked for it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any

from optctx.errors import OptctxError
from optctx.fresh.helper import start_helper
from optctx.fresh.protocol import Decoder, encode, write_all
from optctx.sweep.plan import Answer, Plan, Ready

__all__ = ["SweepProcess"]

_CHUNK = 1 << 20  # bytes read at once
_GRACE = 10.0  # seconds to end in


class SweepProcess:
    """Compiles the combinations of a plan where nothing that LLVM does reaches this process.

    A context manager, for one thread. Leaving it ends the helper and everything that it started.
    """

    def __init__(self) -> None:
        self._helper: subprocess.Popen[bytes] | None = None
        self._decoder = Decoder()

    def __enter__(self) -> SweepProcess:
        self._helper = start_helper("optctx.sweep.supervisor")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        helper = self._running()
        helper.terminate()
        try:
            helper.wait(_GRACE)
        except subprocess.TimeoutExpired:
            helper.kill()  # the kernel ends what it forked
            helper.wait()
        assert helper.stdin is not None
        assert helper.stdout is not None
        helper.stdin.close()
        helper.stdout.close()
        self._helper = None

    def prepare(self, plan: Plan) -> tuple[str, ...]:
        """Send the plan. Return what is wrong with each job under any options; "" if nothing is."""
        self._send(plan)
        (ready,) = self._receive()
        assert isinstance(ready, Ready)
        return ready.errors

    def compile(self, numbers: Iterable[int]) -> Iterator[Answer]:
        """Compile combinations and give each answer as it comes. Raises OptctxError if the helper dies."""
        order = list(numbers)
        waiting = set(order)
        self._send(order)
        while waiting:
            for answer in self._receive():
                waiting.discard(answer.number)
                yield answer

    def _running(self) -> subprocess.Popen[bytes]:
        assert self._helper is not None, "outside of its `with` block"
        return self._helper

    def _send(self, message: object) -> None:
        helper = self._running()
        assert helper.stdin is not None
        try:
            write_all(helper.stdin.fileno(), encode(message))
        except BrokenPipeError:
            raise self._died() from None

    def _receive(self) -> list[Any]:
        """At least one message."""
        helper = self._running()
        assert helper.stdout is not None
        while data := os.read(helper.stdout.fileno(), _CHUNK):
            if messages := self._decoder.feed(data):
                return messages
        raise self._died()

    def _died(self) -> OptctxError:
        status = self._running().wait()
        return OptctxError(f"the helper process of the sweep ended with status {status}; run the sweep again")
