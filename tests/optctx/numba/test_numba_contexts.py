"""`optctx.numba`: functions that are compiled for the context in which they are called."""

from __future__ import annotations

import functools
import pickle
from contextlib import nullcontext
from typing import Any

import pytest

from tests.support.installed import FREE_THREADED, NEEDS_NUMBA

if FREE_THREADED:
    pytest.skip(NEEDS_NUMBA, allow_module_level=True)

import numba

import optctx.numba
from optctx import OptionContext
from optctx.errors import NumbaOptionsWarning
from tests.optctx.numba.numba_functions import Options
from tests.optctx.numba.numba_kernels import ARRAY, SCALAR, calls_helper, helper, is_vector, total
from tests.support.rows import rows
from tests.support.scopes import in_threads

pytestmark = pytest.mark.redirected


def test_one_function_is_compiled_for_each_context_with_what_it_calls() -> None:
    function = optctx.numba.njit(calls_helper, options="context")
    scalar = OptionContext(SCALAR)
    expected = helper.py_func(ARRAY) + 1
    for _ in range(2):
        assert function(ARRAY) == expected
        assert is_vector(function)
        with scalar:
            assert function(ARRAY) == expected
            assert not is_vector(function)
            with OptionContext({"force-vector-width": 0}):
                assert function(ARRAY) == expected
                assert is_vector(function)
    assert function.under(scalar).llvm_options == scalar
    assert scalar(function) is function.under(scalar), "a context as decorator"


def test_equal_contexts_share_the_code_which_goes_with_them() -> None:
    function = optctx.numba.njit(total, options="context")
    pointers = set()
    for _ in range(3):
        with OptionContext(SCALAR):
            function(ARRAY)
            [overload] = function.overloads.values()
            pointers.add(overload.entry_point)
    assert len(pointers) == 1
    assert not function._by_context


def test_threads_in_different_contexts_call_one_function() -> None:
    function = optctx.numba.njit(calls_helper, options="context")
    found: dict[int, bool] = {}

    def work(index: int) -> None:
        with OptionContext(SCALAR if index % 2 else {}):
            function(ARRAY)
            found[index] = is_vector(function)

    in_threads([functools.partial(work, index) for index in range(4)])
    assert found == {0: True, 1: False, 2: True, 3: False}


@rows("options", ["context", SCALAR])
def test_signatures_are_compiled_for_each_context_and_no_others(options: Any) -> None:
    function = optctx.numba.njit("int64(int64[::1])", options=options)(total)
    with OptionContext(SCALAR):
        assert len(function.signatures) == 1
        assert function(ARRAY) == ARRAY.sum()
        assert not is_vector(function)
        with pytest.raises(TypeError, match="No matching definition"):
            function(3)


def test_functions_with_options_compile_it_for_themselves_and_plain_ones_for_their_context() -> None:
    function = optctx.numba.njit(total, options="context")
    own = optctx.numba.njit(options=SCALAR)(lambda array: function(array))
    assert own(ARRAY) == ARRAY.sum()
    assert not is_vector(own)
    assert function.under(OptionContext(SCALAR)).signatures
    plain = numba.njit(lambda array: function(array))
    with OptionContext(SCALAR):
        assert plain(ARRAY) == ARRAY.sum()
    assert not is_vector(plain)


@rows("first", [SCALAR, None])
def test_without_options_the_first_context_stays_and_another_is_told(first: Options | None) -> None:
    function = optctx.numba.njit(calls_helper)
    for _ in range(2):  # in contexts of the same values
        with nullcontext() if first is None else OptionContext(first):
            function(ARRAY)  # warnings are errors
    assert is_vector(function) is (first is None)
    with OptionContext({"unroll-count": 3}), pytest.warns(NumbaOptionsWarning) as told:
        function(ARRAY)
    assert "calls_helper was compiled under OptionContext(" in str(told[0].message)
    assert "and now is called under OptionContext({'unroll-count': 3})" in str(told[0].message)
    assert [each.filename for each in told] == [__file__]
    assert is_vector(function) is (first is None)
    if first:
        with pytest.warns(NumbaOptionsWarning, match="called outside any scope"):
            function(ARRAY)


@rows("options", ["context", None])
def test_pickles_follow_as_well(options: Any) -> None:
    function = optctx.numba.njit("int64(int64[::1])", options=options)(total)
    assert pickle.loads(pickle.dumps(function)) is function
    uuid = function._uuid
    states = function._reduce_states()
    copy = type(function)._rebuild(**{**states, "uuid": uuid + "-copy"})
    assert (copy.mode, copy._frozen) == (function.mode, True)
    with OptionContext(SCALAR):
        assert copy(ARRAY) == ARRAY.sum()
        assert not is_vector(copy)


def test_numbas_questions_are_answered_for_the_context_of_the_thread() -> None:
    function = optctx.numba.njit(total, options="context")
    with OptionContext(SCALAR):
        function(ARRAY)
        assert len(function.signatures) == len(function.nopython_signatures) == 1
        assert function.stats.cache_hits == {}
        function.recompile()
        assert not is_vector(function)
    assert function.signatures == []
    assert not function.is_compiling
