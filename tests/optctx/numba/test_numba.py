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
from tests.support.rows import rows

NONE: Options = {}
INTEL: Options = {"x86-asm-syntax": "intel"}  # read by the machine's constructor
TESTS: Options = {"min-bit-test-cmps": 100}  # by the subtarget
FAST: Options = {"fast-isel": True}  # written to the machine by the pipeline

OUTSIDE: Turn = ("scope", NONE)


@functools.cache
def fresh_process(*process_wide: str) -> Code:
    found: list[Code] = run(in_turn, [OUTSIDE], process_wide=process_wide)
    return found[0]


def fresh(options: Options) -> Code:
    """What Numba makes in a process without optctx that has these options set for all of it."""
    return fresh_process(*arguments(options))


def arguments(options: Options) -> list[str]:
    return OptionContext(options, base="defaults").args()


# The first turn makes the machine; what the process has set holds outside.
IN_TURN: list[tuple[Options, list[Turn], list[Options]]] = [
    (
        NONE,
        [OUTSIDE, ("scope", INTEL), OUTSIDE, ("bound", TESTS), ("scope", FAST), OUTSIDE],
        [NONE, INTEL, TESTS, FAST],
    ),
    (TESTS, [("scope", INTEL), OUTSIDE, ("bound", FAST), OUTSIDE], []),
]


@pytest.mark.llvm22
@rows(("process_wide", "turns", "threads"), IN_TURN)
def test_scopes_bindings_and_threads_share_the_machine_wherever_it_was_made(
    process_wide: Options, turns: list[Turn], threads: list[Options]
) -> None:
    if not process_wide:
        assert len({fresh(options) for options in (NONE, INTEL, TESTS, FAST)}) == 4, "this shows nothing"
        assert fresh(INTEL)[1] == fresh(NONE)[1]
    wanted = [*(options or process_wide for _, options in turns), *threads]
    found = run(in_turn, turns, threads, process_wide=arguments(process_wide))
    assert found == [fresh(options) for options in wanted]
