"""Commands that a signal ends: each prints what it has and leaves nothing behind; a search goes on."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from optctx.lab.command.main import main
from tests.support.command_lines import Ended
from tests.support.endless import LIST, SCALED, endless, reached
from tests.support.ir_texts import SCALE
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


# What is said of what has ended by then: at most three of four, of which the last never ends.
SAID = {
    "sweep": "interrupted after [0123] trials?",
    "rank": "interrupted after [0123] of 4 values",
    "tune": "interrupted after [012] of 4 trials; the same command goes on in '{kept}'",
    "reduce": "interrupted.*",
}


def words_of(command: str, folder: pathlib.Path) -> list[str]:
    """Four values, of which the last ones never end; for `reduce`, a set that never ends."""
    (folder / "scale.ll").write_text(SCALE)
    words = [command, str(folder / "scale.ll"), "--passes", SCALED, "--timeout", "100"]
    if command == "reduce":
        return [*words, "--set", "disable-lsr", "--set", f"{LIST}={endless(folder)}"]
    words += ["--format", "json", "-j", "3" if command == "tune" else "1"]
    tries = ["--try", "force-vector-width=1,2", "--try", f"{LIST}=/dev/null,{endless(folder)}"]
    more = {"rank": ["--only", LIST], "tune": ["--storage", str(folder / "kept")]}
    return [*words, *(tries[2:] + tries[:2] if command == "sweep" else tries), *more.get(command, [])]


def found_in(command: str, ended: Ended) -> int:
    """How many results an interrupted command has printed."""
    data = json.loads(ended.out)
    if command == "sweep":
        return len(data)
    if command == "rank":
        found = sum(len(each["trials"]) for each in data["effects"])
        assert data["left"] == 4 - found
        return found
    assert data["finished"] is False
    return len(data["trials"])


@pytest.mark.parametrize("turn", [0, pytest.param(1, marks=pytest.mark.long)])
def test_each_command_prints_what_it_has(turn: int, tmp_path: pathlib.Path) -> None:
    """Two signals, as `timeout` sends them. Helpers have them as well, and must not be the first to end."""

    def end(place: int, command: str) -> None:
        folder, number = tmp_path / command, list(STATUS)[(place + turn) % 2]
        folder.mkdir()
        words = words_of(command, folder)
        with contextlib.ExitStack() as stack:

            def when(process: subprocess.Popen[str]) -> None:
                stack.enter_context(reached(str(folder / "pipe")))

            ended = interrupted(words, folder, when, number, times=2)
        assert ended.status == STATUS[number], ended.err
        line = SAID[command].format(kept=re.escape(str(folder / "kept")))
        assert re.fullmatch(f"optctx: {line}\n", ended.err), ended.err
        if command != "reduce":
            assert f"after {found_in(command, ended)} " in ended.err
        assert {path.name for path in folder.iterdir()} <= {"kept", "pipe", "scale.ll", "temporary"}

    with ThreadPoolExecutor(len(SAID)) as pool:
        list(pool.map(end, range(len(SAID)), SAID))


@pytest.mark.parametrize(
    ("command", "places"),
    [
        ("rank", 3),
        *(pytest.param(each, 9, marks=pytest.mark.long) for each in ("rank", "sweep", "tune")),
    ],
)
def test_a_signal_at_any_moment_leaves_nothing_and_is_one_line(
    command: str, places: int, tmp_path: pathlib.Path
) -> None:
    """While modules are imported, a helper starts, the base and trials are compiled."""

    def at(place: int, seconds: float) -> None:
        folder, number = tmp_path / str(place), list(STATUS)[place % 2]
        folder.mkdir()
        ended = interrupted(words_of(command, folder), folder, lambda _: time.sleep(seconds), number)
        assert ended.status == STATUS[number], (seconds, ended.err)
        assert re.fullmatch("optctx: interrupted.*\n", ended.err), ended.err

    with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
        list(pool.map(at, range(places), [0.02 + 1.2 * place / places for place in range(places)]))


@pytest.mark.parametrize("number", STATUS)
def test_an_interrupt_comes_once_also_if_it_is_swallowed_or_sent_twice(
    number: int, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    class Finaliser:
        """As a weakref's callback in an import: what it raises is printed and lost."""

        def __del__(self) -> None:
            os.kill(os.getpid(), number)

    def swallowed(argv: object) -> int:
        Finaliser()
        time.sleep(5)  # far more than it takes to come again
        raise AssertionError("it was lost")

    def twice(argv: object) -> int:
        """As `timeout` sends it."""
        try:
            os.kill(os.getpid(), number)
            time.sleep(5)
        except KeyboardInterrupt:
            os.kill(os.getpid(), number)
            time.sleep(0.01)
            raise KeyboardInterrupt("interrupted after all") from None
        raise AssertionError("it was lost")

    before = signal.signal(number, signal.default_int_handler)  # in the background it may be ignored
    try:
        for run, said in ((swallowed, "interrupted"), (twice, "interrupted after all")):
            monkeypatch.setattr("optctx.lab.command.main._run", run)
            assert main(["options"]) == STATUS[number]
            assert capfd.readouterr() == ("", f"optctx: {said}\n")
            assert signal.getsignal(number) is signal.default_int_handler
    finally:
        signal.signal(number, before)
