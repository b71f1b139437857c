"""Numba, which compiles everything with one TargetMachine: each function is as in a fresh process.

Everything runs in processes of its own: Numba makes its machine when a process first compiles.
"""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Mapping

import pytest
from support import run_python

from optctx import OptionContext

pytestmark = [
    pytest.mark.redirected,
    # As the other libraries of tests/optctx/engine/test_beside_other_libraries.py.
    pytest.mark.skipif(
        sys.version_info >= (3, 14), reason="needs Numba, which is installed before Python 3.14"
    ),
]

Options = Mapping[str, object]

OUTSIDE: Options = {}
INTEL: Options = {"x86-asm-syntax": "intel"}  # read by the machine's constructor
TESTS: Options = {"min-bit-test-cmps": 100, "trap-unreachable": True}  # by the subtarget, and the constructor
FAST: Options = {"fast-isel": True}  # written to the machine by the pipeline

FRESH = """
    import json, sys
    from llvmlite import binding
    for argument in sys.argv[1:]:
        binding.set_option("", argument)
    from numba_functions import compiled
    assert "optctx" not in sys.modules
    print(json.dumps(compiled()))
"""


@functools.cache
def fresh_process(*process_wide: str) -> dict[str, str]:
    [found] = printed(FRESH, *process_wide)
    return found


def fresh(options: Options) -> dict[str, str]:
    """What Numba makes in a process without optctx that has these options set for all of it."""
    return fresh_process(*arguments(options))


def arguments(options: Options) -> list[str]:
    return OptionContext(options, base="defaults").args()


def printed(script: str, *arguments: str) -> list[dict[str, str]]:
    return [json.loads(line) for line in run_python(script, *arguments).splitlines()]


@pytest.mark.llvm22
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


IN_TURN = """
    import json, sys
    from llvmlite import binding
    everywhere, *turns = map(json.loads, sys.argv[1:])
    for argument in everywhere:
        binding.set_option("", argument)
    from numba_functions import compiled
    from optctx import OptionContext

    for options in turns:
        run = OptionContext(options, base="defaults").run if options else lambda work: work()
        print(json.dumps(run(compiled)))
"""


def in_turn(turns: list[Options], process_wide: Options = OUTSIDE) -> list[dict[str, str]]:
    """What Numba makes in a process, in a scope of each of these sets of options or outside any."""
    return printed(IN_TURN, *map(json.dumps, [arguments(process_wide), *turns]))


@pytest.mark.llvm22
@pytest.mark.parametrize(
    "turns",
    [
        [OUTSIDE, INTEL, OUTSIDE, TESTS, FAST, INTEL, OUTSIDE],
        [INTEL, OUTSIDE, FAST, TESTS, INTEL, OUTSIDE],
        [TESTS, FAST, OUTSIDE, TESTS],
    ],
    ids=["machine made before attaching", "in a scope of what it keeps", "in a scope of what its code keeps"],
)
def test_scopes_one_after_another_share_numbas_machine(turns: list[Options]) -> None:
    assert in_turn(turns) == [fresh(options) for options in turns]


@pytest.mark.llvm22
def test_outside_again_numba_has_the_values_of_the_process() -> None:
    turns = [INTEL, OUTSIDE, FAST, OUTSIDE]
    wanted = [fresh(options or TESTS) for options in turns]
    assert in_turn(turns, process_wide=TESTS) == wanted


AT_ONCE = """
    import functools, json, sys
    from numba_functions import compiled
    from optctx import OptionContext
    from support import in_threads

    turns = [json.loads(options) for options in sys.argv[1:]]
    found = [[] for _ in turns]

    def work(index):
        run = OptionContext(turns[index], base="defaults").run if turns[index] else lambda work: work()
        for _ in range(2):
            found[index].append(run(compiled))

    in_threads([functools.partial(work, index) for index in range(len(turns))])
    for each in found:
        print(*map(json.dumps, each), sep="\\n")
"""


@pytest.mark.llvm22
def test_threads_inside_different_scopes_share_numbas_machine() -> None:
    turns = [OUTSIDE, INTEL, TESTS, FAST]
    found = printed(AT_ONCE, *map(json.dumps, turns))
    assert found == [fresh(options) for options in turns for _ in range(2)]


BOUND = """
    import json, sys
    from llvmlite.binding.context import get_global_context
    from numba_functions import compiled
    from optctx import OptionContext, unbind

    for options in map(json.loads, sys.argv[1:]):
        if options:
            OptionContext(options, base="defaults").bind(get_global_context())
        print(json.dumps(compiled()))
        if options:
            unbind(get_global_context())
"""


@pytest.mark.llvm22
def test_options_bound_to_the_llvm_context_that_numba_uses() -> None:
    turns = [OUTSIDE, TESTS, INTEL, OUTSIDE]
    found = printed(BOUND, *map(json.dumps, turns))
    assert found == [fresh(options) for options in turns]
