"""Tests in processes of their own, and in children of fork, fail for what goes wrong there, and say what.

And a test draws the same examples whatever was imported before it.
"""

from __future__ import annotations

import os
import pathlib
import signal
import sys
import threading

import pytest

from tests.support.alone import alone
from tests.support.processes import in_child, run_python

HERE = os.getpid()


@alone
def test_a_test_has_a_process_of_its_own_in_which_nothing_is_attached_or_runs() -> None:
    from optctx.engine.attach import attached

    assert os.getpid() == HERE  # this module was imported here
    assert {"tests.support.scopes", "llvmlite.binding", "optctx"} <= sys.modules.keys()
    assert attached() is None
    assert threading.active_count() == len(os.listdir("/proc/self/task")) == 1
    assert not os.read(0, 1)


@alone
def ends(how: str) -> None:
    match how:
        case "an assertion":
            assert sum([1, 2]) == 2
        case "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        case "skip":
            pytest.skip("for a reason")
        case "exit":
            os._exit(3)
        case "output":
            os.system("echo of a child")
            print("of its own", file=sys.stderr)


ENDS = {
    "an assertion": "where 3 = sum([1, 2])",
    "crash": "ends was ended by SIGSEGV",
    "exit": "ends ended with status 3",
    "output": "ends printed:\nof a child\nof its own\n",
}


def test_any_other_end_than_a_silent_one_is_a_failure(capsys: pytest.CaptureFixture[str]) -> None:
    ends(how="well")
    for how, says in ENDS.items():
        with pytest.raises(pytest.fail.Exception) as failure:
            ends(how=how)
        assert capsys.readouterr() == ("", "")
        assert says in str(failure.value)
        assert "/alone.py" not in str(failure.value)  # how it was run is not shown
    with pytest.raises(pytest.skip.Exception, match="for a reason"):
        ends(how="skip")


class Fails:
    """Something whose finaliser raises."""

    def __del__(self) -> None:
        raise LookupError("of a finaliser")


def start_a_thread_that_fails() -> None:
    thread = threading.Thread(target=lambda: 1 // 0)
    thread.start()
    thread.join()


def test_what_no_code_can_catch_in_a_child_of_fork_is_a_failure_too(
    capfd: pytest.CaptureFixture[str],
) -> None:
    for work, error in ((start_a_thread_that_fails, "ZeroDivisionError"), (Fails, "of a finaliser")):
        with pytest.raises(AssertionError):
            in_child(work)
        assert error in capfd.readouterr().err


_DRAWING = """
import sys
from hypothesis import given, settings, strategies as st
from tests.support.examples import REPEATABLE
sys.path.append(sys.argv[1])
settings.load_profile(REPEATABLE)

@given(st.tuples(st.integers(), st.text(), st.floats(), st.sampled_from(range(1000))))
def draws(drawn):
    print(ascii(drawn))

draws()
print("imported")
import constants
draws()
"""


def test_examples_do_not_depend_on_what_is_imported(tmp_path: pathlib.Path) -> None:
    """Hypothesis draws some of the constants of the modules that it takes for the program under test."""
    (tmp_path / "constants.py").write_text(f"NUMBERS = {list(range(100, 900))}, 0.12345, 'a word'\n")
    before, after = run_python(_DRAWING, str(tmp_path)).split("imported\n")
    assert before == after != ""
