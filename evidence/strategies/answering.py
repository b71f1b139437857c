"""A helper process that answers one message at a time."""

from __future__ import annotations

import subprocess
import tempfile
from typing import TypeVar

from optctx.children.death import cause_of_end, printed_to
from optctx.children.frames import Reader, encode, write_all
from optctx.children.spawning import end_helper, start_helper
from optctx.errors import OptctxError

__all__ = ["AnsweringHelper"]

R = TypeVar("R")


class AnsweringHelper:
    """Runs `main` of a module, which answers each frame on standard input. Not for two threads at once."""

    def __init__(self, module: str, grace: float) -> None:
        """`grace`: seconds that the process may take to end."""
        self._grace = grace
        self._printed = tempfile.TemporaryFile()  # noqa: SIM115  # lives as long as the process
        self._helper: subprocess.Popen[bytes] = start_helper(module, printed=self._printed.fileno())

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
