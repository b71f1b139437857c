"""The fuzz target: a short run of it finds nothing, and it finds what it is there for."""

from __future__ import annotations

import os
import pathlib
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import pairwise

import pytest
from support import run_python

from optctx.errors import OptctxError
from tests.fuzz.case import Case
from tests.fuzz.watched import Watched

ROOT = pathlib.Path(__file__).parent.parent
CASES = 400


def test_a_short_run_finds_nothing() -> None:
    command = [sys.executable, "-W", "error", "-m", "tests.fuzz", "--seed", "7", "--cases", str(CASES)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    words = done.stdout.split()
    numbers = {name.strip(","): int(number) for number, name in pairwise(words) if number.isdigit()}
    assert numbers["cases"] == CASES
    assert numbers["contexts"] > CASES // 4
    assert numbers["compilations"] > CASES // 20


def printing(case: Case) -> None:
    os.write(1, b"words")


def exiting(case: Case) -> None:
    os._exit(3)


def dying(case: Case) -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def hanging(case: Case) -> None:
    time.sleep(1000)


def leaking(case: Case) -> None:
    """A process-wide value, as `llvmlite.binding.set_option` leaves it."""
    from llvmlite import binding

    binding.set_option("", "-unroll-count=77")


def staying_inside(case: Case) -> None:
    from optctx import OptionContext

    OptionContext({"unroll-count": 3}).__enter__()


def raising(case: Case) -> None:
    raise UnicodeError("odd")


def refusing(case: Case) -> None:
    raise OptctxError("no")


WRONG: list[tuple[Callable[[Case], None], str]] = [
    (printing, "prints 'words'"),
    (exiting, "an exit with status 3 while making; prints ''"),
    (dying, "SIGSEGV while making; prints ''"),
    (leaking, "changes process-wide values: {'unroll-count': ((0, 0), (77, 1))}"),
    (staying_inside, "leaves 1 scopes entered"),
    (raising, "raises UnicodeError: odd"),
]


def find(fault: str, when: str) -> None:
    """Prints what a run finds if it goes wrong to make a context from a case with `when` in it.

    For a process of its own, which it leaves attached and faulty.
    """
    from tests.fuzz import case as module
    from tests.fuzz.main import Fuzzer

    make = module._make
    wrong: Callable[[Case], None] = globals()[fault]

    def faulty(case: Case) -> object:
        try:
            text = str(case.line or case.overrides)
        except ValueError:  # an int of more digits than str() gives
            text = ""
        if when in text:
            wrong(case)
        return make(case)

    module._make = faulty  # type: ignore[assignment]
    from optctx.engine.attach import attach
    from optctx.fresh import FreshProcess

    attach()
    sys.set_int_max_str_digits(0)
    with FreshProcess() as fresh, Watched(1.0 if wrong is hanging else 20.0) as watched:
        fuzzer = Fuzzer(watched, fresh)
        if wrong is hanging:  # to make it smaller takes a hang for each step
            print(fuzzer.check(Case(line=when)))
        else:
            fuzzer.run_batch(1, 60)
    for finding in fuzzer.findings:
        print(len(finding.history), finding)


@pytest.mark.parametrize(("fault", "words"), WRONG, ids=lambda value: getattr(value, "__name__", ""))
def test_what_goes_wrong_is_found_and_made_small(fault: Callable[[Case], None], words: str) -> None:
    said = run_python("import sys, test_fuzz; test_fuzz.find(*sys.argv[1:])", fault.__name__, "-")
    [line] = said.splitlines()
    assert line.startswith("0 Case(")
    assert line.endswith(f": {words}")
    assert len(line) < 150  # one option, and little else


def test_a_hang_is_found() -> None:
    said = run_python("import sys, test_fuzz; test_fuzz.find(*sys.argv[1:])", "hanging", "-")
    assert said == "a hang of 1 s while making; prints ''\n"


def test_an_error_of_ours_is_nothing_to_find() -> None:
    assert run_python("import sys, test_fuzz; test_fuzz.find(*sys.argv[1:])", "refusing", "-") == ""
