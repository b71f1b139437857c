"""Numba, which compiles everything with one TargetMachine: each function is as in a fresh process.

Everything runs in processes of its own: Numba makes its machine when a process first compiles.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping

import pytest

from tests.support.installed import FREE_THREADED, NEEDS_NUMBA

if FREE_THREADED:
    pytest.skip(NEEDS_NUMBA, allow_module_level=True)

from optctx import OptionContext
from tests.optctx.numba.numba_functions import Code, at_once, bound, in_turn
from tests.optctx.numba.numba_processes import run

pytestmark = [pytest.mark.redirected, pytest.mark.llvm22]

Options = Mapping[str, object]

OUTSIDE: Options = {}
INTEL: Options = {"x86-asm-syntax": "intel"}  # read by the machine's constructor
TESTS: Options = {"min-bit-test-cmps": 100, "trap-unreachable": True}  # by the subtarget, and the constructor
FAST: Options = {"fast-isel": True}  # written to the machine by the pipeline


@functools.cache
def fresh_process(*process_wide: str) -> Code:
    [found] = run(in_turn, {}, process_wide=process_wide)
    return dict(found)


def fresh(options: Options) -> Code:
    """What Numba makes in a process without optctx that has these options set for all of it."""
    return fresh_process(*arguments(options))


def arguments(options: Options) -> list[str]:
    return OptionContext(options, base="defaults").args()


def test_these_options_change_what_numba_makes() -> None:
    plain = fresh(OUTSIDE)
    changed = {
        name: {part for part, text in fresh(options).items() if text != plain[part]}
        for name, options in (("intel", INTEL), ("tests", TESTS), ("fast", FAST))
    }
    assert changed == {
        "intel": {"chooses", "loops", "stops"},
        "tests": {"chooses", "stops", "code"},
        "fast": {"chooses", "loops", "stops", "code"},
    }


@pytest.mark.parametrize(
    "turns",
    [[OUTSIDE, INTEL, OUTSIDE, TESTS, FAST, OUTSIDE], [INTEL, FAST, OUTSIDE], [TESTS, FAST, OUTSIDE, TESTS]],
    ids=["machine made before attaching", "in a scope of what it keeps", "in a scope of what its code keeps"],
)
def test_scopes_one_after_another_share_numbas_machine(turns: list[Options]) -> None:
    assert run(in_turn, *turns) == [fresh(options) for options in turns]


def test_outside_again_numba_has_the_values_of_the_process() -> None:
    turns = [INTEL, OUTSIDE, FAST, OUTSIDE]
    wanted = [fresh(options or TESTS) for options in turns]
    assert run(in_turn, *turns, process_wide=arguments(TESTS)) == wanted


def test_threads_inside_different_scopes_share_numbas_machine() -> None:
    turns = [OUTSIDE, INTEL, TESTS, FAST]
    assert run(at_once, *turns) == [[fresh(options)] * 2 for options in turns]


def test_options_bound_to_the_llvm_context_that_numba_uses() -> None:
    turns = [OUTSIDE, TESTS, INTEL, OUTSIDE]
    assert run(bound, *turns) == [fresh(options) for options in turns]
