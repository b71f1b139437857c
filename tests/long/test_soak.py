"""The soak: a short run of it finds nothing, and it finds what it is there for."""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys

import pytest

from tests.long.soak.__main__ import main

ROOT = pathlib.Path(__file__).parents[2]

pytestmark = pytest.mark.redirected


def soak(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", "-m", "tests.long.soak", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)


@pytest.mark.long
def test_a_short_run_finds_nothing() -> None:
    done = soak("--minutes", "0.1", "--seed", "7", "--threads", "3")
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert "0 wrong, 0 hangs, 0 crashes" in done.stdout
    found = re.match(r"(\d+) operations of (\d+) kinds in 1 processes", done.stdout)
    assert found is not None, done.stdout
    assert int(found[1]) > 30
    assert int(found[2]) > 20
    assert "memory of stock llvmlite" in done.stdout


@pytest.mark.long
def test_what_goes_wrong_is_found_with_its_seed_and_what_was_going_on() -> None:
    kinds = ("broken-result", "broken-error", "broken-crash", "broken-exit", "broken-hang")
    done = soak(
        "--minutes", "0.5", "--seed", "10", "--seconds", "2", "--threads", "1", "--only", ",".join(kinds)
    )
    assert done.returncode == 1
    for words in (
        "WRONG seed {}, thread 0, operation 1, broken-result: scale under (): @@",
        "WRONG seed {}, thread 0, operation 1, broken-error: Traceback",
        "CRASH SIGSEGV, repeat it with --seed {} --threads 1 --only broken-",
        "CRASH exit status 0, repeat it with --seed {} --threads 1 --only broken-",
        "HANG of more than 2 s, repeat it with --seed {} --threads 1 --only broken-",
    ):
        assert re.search(re.escape(words).replace(r"\{\}", r"\d+"), done.stdout), done.stdout
    for kind in kinds:
        assert f"  thread 0: 1 {kind}\n" in done.stdout
    assert 'broken.py", line' in done.stdout  # the stack of what hangs


def test_a_kind_that_is_none_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--without", "fork"])
    assert ended.value.code == 2
    assert "no kind of operation is called fork; there are scopes, " in capsys.readouterr().err
