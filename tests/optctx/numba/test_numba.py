"""Numba, which compiles everything with one TargetMachine: each function is as in a fresh process.

Everything runs in processes of its own: Numba makes its machine when a process first compiles.
"""

from __future__ import annotations

import functools

import pytest

from tests.support.installed import FREE_THREADED, NEEDS_NUMBA

if FREE_THREADED:
    pytest.skip(NEEDS_NUMBA, allow_module_level=True)

from optctx import OptionContext
from tests.optctx.numba.numba_functions import Code, Options, Turn, in_turn
from tests.optctx.numba.numba_processes import run

pytestmark = [pytest.mark.redirected, pytest.mark.llvm22]

NONE: Options = {}
INTEL: Options = {"x86-asm-syntax": "intel"}  # read by the machine's constructor
TESTS: Options = {"min-bit-test-cmps": 100, "trap-unreachable": True}  # by the subtarget, and the constructor
FAST: Options = {"fast-isel": True}  # written to the machine by the pipeline

OUTSIDE: Turn = ("scope", NONE)


@functools.cache
def fresh_process(*process_wide: str) -> Code:
    [found] = run(in_turn, [OUTSIDE], process_wide=process_wide)
    return dict(found)


def fresh(options: Options) -> Code:
    """What Numba makes in a process without optctx that has these options set for all of it."""
    return fresh_process(*arguments(options))


def arguments(options: Options) -> list[str]:
    return OptionContext(options, base="defaults").args()


def test_these_options_change_what_numba_makes() -> None:
    plain = fresh(NONE)
    changed = {
        name: {part for part, text in fresh(options).items() if text != plain[part]}
        for name, options in (("intel", INTEL), ("tests", TESTS), ("fast", FAST))
    }
    assert changed == {
        "intel": {"chooses", "stops"},
        "tests": {"chooses", "stops", "code"},
        "fast": {"chooses", "stops", "code"},
    }


def test_scopes_bindings_and_threads_share_a_machine_that_was_made_before_attaching() -> None:
    turns: list[Turn] = [OUTSIDE, ("scope", INTEL), OUTSIDE, ("bound", TESTS), ("scope", FAST), OUTSIDE]
    threads = [NONE, INTEL, TESTS, FAST]
    wanted = [*(options for _, options in turns), *threads]
    assert run(in_turn, turns, threads) == [fresh(options) for options in wanted]


def test_the_machine_may_be_made_in_a_scope_of_what_its_code_keeps() -> None:
    turns = [("scope", TESTS), OUTSIDE]
    assert run(in_turn, turns) == [fresh(TESTS), fresh(NONE)]


def test_the_machine_may_be_made_in_a_scope_and_outside_numba_has_the_values_of_the_process() -> None:
    turns: list[Turn] = [("scope", INTEL), OUTSIDE, ("bound", FAST), OUTSIDE]
    wanted = [fresh(options or TESTS) for _, options in turns]
    assert run(in_turn, turns, process_wide=arguments(TESTS)) == wanted
