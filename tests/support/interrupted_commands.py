"""Commands that signals end: what they say, and that they leave nothing behind."""

from __future__ import annotations

import contextlib
import os
import pathlib
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence

from tests.support.command_lines import Ended
from tests.support.processes import SECONDS, of_session, wait_for

# The program, even where whoever started the tests ignores signals, as shells do for what runs beside them.
# It says when it begins, as it imports the commands: nothing can be asked of Python's own start, nor of the
# moment before it handles signals, which is long on a busy machine.
_PROGRAM = """
import os, signal, sys

class Begins:
    def find_spec(self, name, path, target=None):
        if name == "optctx.lab.command.main":
            sys.meta_path.remove(self)
            os.write(begun, b"begun")

begun = int(sys.argv.pop(1))
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGTERM, signal.SIG_DFL)
from optctx.program import main
if "optctx.lab.command.main" in sys.modules:
    os.write(begun, b"begun")
else:
    sys.meta_path.insert(0, Begins())
sys.exit(main())
"""


def interrupted(
    arguments: Sequence[str],
    folder: pathlib.Path,
    when: Callable[[subprocess.Popen[str]], object],
    number: int = signal.SIGINT,
    *,
    times: int = 1,
) -> Ended:
    """The command, whose whole group gets a signal when it has begun and `when` has returned.

    It runs in a session of its own, with temporary files in `folder`/temporary, and leaves nothing behind.
    """
    temporary = folder / "temporary"
    temporary.mkdir(exist_ok=True)
    reading, writing = os.pipe()
    with subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, str(writing), *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        pass_fds=[writing],
        text=True,
        env={**os.environ, "TMPDIR": str(temporary)},
    ) as process:
        os.close(writing)
        assert os.read(reading, 5) == b"begun"
        os.close(reading)
        try:
            when(process)
            for _ in range(times):  # `timeout` tells the process, then its group
                os.killpg(process.pid, number)
            out, err = process.communicate(timeout=SECONDS)
            wait_for(lambda: not of_session(process.pid))
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    assert list(temporary.iterdir()) == []
    return Ended(process.returncode, out, err)


STATUS: dict[int, int] = {signal.SIGINT: 130, signal.SIGTERM: 143}
