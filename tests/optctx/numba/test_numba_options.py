"""Numba under options, as in a fresh process that has them: in scopes, and with options at its decorators.

Numba compiles everything with one TargetMachine, which it makes when a process first decorates a function.
"""

from __future__ import annotations

import functools
import pickle
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.installed import FREE_THREADED, NEEDS_NUMBA

if FREE_THREADED:
    pytest.skip(NEEDS_NUMBA, allow_module_level=True)

import numba
import numpy as np
from numba.core.errors import TypingError
from numba.core.registry import CPUDispatcher

import optctx.numba
from optctx import OptionContext, OptionTypeError, UnreadOptionError, UnreadOptionWarning
from tests.optctx.numba import numba_kernels
from tests.optctx.numba.numba_functions import Options, in_turn
from tests.optctx.numba.numba_kernels import ARRAY, SCALAR, calls_helper, compiled, helper, is_vector, total
from tests.optctx.numba.numba_processes import run

OTHER: Options = {"inline-threshold": 50, "trap-unreachable": True}
INTEL: Options = {"x86-asm-syntax": "intel"}  # read by the machine's constructor
FAST: Options = {"fast-isel": True}  # written to the machine by the pipeline


def arguments(options: Options) -> list[str]:
    return OptionContext(options, base="defaults").args()


@pytest.mark.llvm22
def test_scopes_bindings_and_threads_share_the_machine() -> None:
    """It is made in the first scope; what the process has set holds outside."""
    fresh = {
        name: run(in_turn, [("scope", {})], process_wide=arguments(options))[0]
        for name, options in {"intel": INTEL, "fast": FAST}.items()
    }
    assert fresh["intel"] != fresh["fast"], "this shows nothing"
    turns = [("scope", INTEL), ("scope", {}), ("bound", INTEL), ("scope", {})]
    found = run(in_turn, turns, [INTEL, FAST], process_wide=arguments(FAST))
    assert found == [fresh[name] for name in ("intel", "fast") * 3]


def test_functions_helpers_and_numpy_are_as_in_a_fresh_process() -> None:
    plain = compiled(numba.njit)  # all was compiled before, under other options
    found = compiled(optctx.numba.njit(options=SCALAR))
    assert found == run(numba_kernels.fresh, process_wide=arguments(SCALAR))
    # Whether NumPy's function is a vector loop depends on the Numba.
    assert found["calls_helper"] != plain["calls_helper"]
    assert compiled(numba.njit) == plain, "plain functions are as without options"
    assert is_vector(helper)


def test_a_program_may_put_the_decorators_in_the_place_of_numbas(monkeypatch: pytest.MonkeyPatch) -> None:
    for decorator in ("njit", "jit"):
        ours = functools.partial(getattr(optctx.numba, decorator), options=SCALAR)
        monkeypatch.setattr(numba, decorator, ours)
        function = getattr(numba, decorator)(total)
        assert function(ARRAY) == ARRAY.sum()
        assert not is_vector(function)


def test_a_helper_with_options_keeps_them_and_its_caller_has_its_own() -> None:
    inner = optctx.numba.njit(options=OTHER)(total)

    @optctx.numba.njit(options=SCALAR)
    def outer(array: Any) -> int:
        return inner(array) + np.sum(array)

    assert outer(ARRAY) == 2 * ARRAY.sum()
    assert (outer.llvm_options["force-vector-width"], inner.llvm_options["force-vector-width"]) == (1, 0)
    assert is_vector(inner)
    assert inner.llvm_options.overrides == OTHER


# Contexts as decorators


class Other(CPUDispatcher):  # type: ignore[misc]
    """As of another library."""


def test_a_context_compiles_a_dispatcher_under_its_values() -> None:
    plain = numba.njit("int64(int64[::1])", fastmath=True)(total)
    function: Any = OptionContext(SCALAR)(plain)
    assert function is not plain
    assert (is_vector(plain), is_vector(function)) == (True, False)
    assert function.targetoptions["fastmath"] is True
    assert function.signatures == plain.signatures
    with pytest.raises(OptionTypeError, match="has LLVM options of its own"):
        OptionContext(OTHER)(function)
    with pytest.raises(OptionTypeError, match="of another kind"):
        OptionContext(OTHER)(Other(total, targetoptions={"nopython": True}))


# What is refused


def test_functions_of_different_options_do_not_call_each_other_in_turn() -> None:
    @optctx.numba.njit(options=SCALAR)
    def even(n: int) -> bool:
        return True if n == 0 else odd(n - 1)

    @optctx.numba.njit(options=OTHER)
    def odd(n: int) -> bool:
        return False if n == 0 else even(n - 1)

    with pytest.raises(
        TypingError, match="calls a function that calls it back, and the two have different LLVM"
    ):
        even(4)


def test_a_generator_stays_among_functions_of_the_same_options() -> None:
    def count(n: int) -> Iterator[int]:
        for each in range(n):
            yield each + 1

    def total(n: int) -> int:
        found = 0
        for each in counted(n):
            found += each
        return found

    counted = OptionContext(SCALAR)(numba.njit(count))
    assert optctx.numba.njit(options=SCALAR)(total)(4) == sum(counted(4)) == 10
    for njit in (numba.njit, optctx.numba.njit(options=OTHER)):
        with pytest.raises(TypingError, match="count gives a generator and has LLVM options of its own"):
            njit(total)(4)


def test_a_jitclass_is_refused_by_name() -> None:
    @numba.experimental.jitclass([("x", numba.int64)])
    class Counter:
        def __init__(self, x: int) -> None:
            self.x = x

    with pytest.raises(TypingError, match=r"Counter.*cannot be compiled under LLVM options"):
        optctx.numba.njit(options=SCALAR)(lambda n: Counter(n).x)(3)


def test_another_numba_is_refused_at_the_first_use() -> None:
    missing, old, changed = run(numba_kernels.refused_uses)
    assert "optctx.numba needs Numba, which cannot be imported" in missing
    assert "optctx.numba does not work with Numba 0.60.0; install" in old
    assert "has no numba.core.codegen.CPUCodeLibrary._get_module_for_linking; install" in changed


def test_functions_travel_to_other_processes() -> None:
    function = optctx.numba.njit(options=SCALAR)(total)
    assert pickle.loads(pickle.dumps(function)) is function
    found = run(numba_kernels.loaded, pickle.dumps(function))
    assert found == (ARRAY.sum(), False, OptionContext(SCALAR).args())


# What was not read


def test_an_option_that_nothing_reads_is_told_once_for_each_compilation() -> None:
    context = OptionContext({"arm-parallel-dsp-load-limit": 3, "unroll-count": 5}, unread="warn")
    function = optctx.numba.njit(options=context)(total)
    with pytest.warns(UnreadOptionWarning, match="what reads it did not run") as told:
        function(ARRAY)
    assert [each.filename for each in told] == [__file__]
    assert re.findall(r"-[\w-]+=", str(told[0].message)) == ["-arm-parallel-dsp-load-limit="]
    function(ARRAY)  # nothing is compiled, and nothing said
    strict = optctx.numba.njit(options=context.derive(unread="error"))(total)
    with pytest.raises(UnreadOptionError):
        strict(ARRAY)


# Decorators in scopes


def test_without_options_a_function_has_those_of_the_scope_around_its_decorator() -> None:
    made = {}
    for name, options in {"vector": {}, "scalar": SCALAR, "again": SCALAR}.items():
        with OptionContext(options):
            made[name] = optctx.numba.njit(calls_helper)
    outside = optctx.numba.njit(calls_helper)
    for name, function in {**made, "outside": outside}.items():
        with OptionContext(SCALAR if name == "vector" else OTHER):
            assert function(ARRAY) == helper.py_func(ARRAY) + 1
        assert is_vector(function) is (name in ("vector", "outside"))
    assert made["scalar"].llvm_options == made["again"].llvm_options == OptionContext(SCALAR)
    assert made["scalar"].targetdescr is made["again"].targetdescr, "equal contexts share code"
