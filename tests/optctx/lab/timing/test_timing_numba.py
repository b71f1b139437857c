"""Calls of Numba functions as kernels: what they compute, and what cannot be one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.support.installed import FREE_THREADED, NEEDS_NUMBA

if FREE_THREADED:
    pytest.skip(NEEDS_NUMBA, allow_module_level=True)

import numba
import numpy as np

import optctx.numba
from optctx.compiling import FreshProcess, Job, compile_job
from optctx.errors import OptctxError
from optctx.lab.timing import Array, Call, call_of, check


@numba.njit
def half(x: Any) -> Any:
    return x * 0.5


@numba.njit
def running(array: Any, weight: float, negative: bool) -> Any:
    total = 0.0
    for i in range(array.shape[0]):
        for j in range(array.shape[1]):
            total += half(array[i, j]) * weight
            array[i, j] = -total if negative else total
    return total


@numba.njit
def another(array: Any, weight: float, negative: bool) -> Any:
    total = running(array, weight, negative)
    array[1, 0] += 1
    return total


@numba.njit(fastmath=True)
def dot(a: Any, b: Any) -> Any:
    total = a[0] * 0
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@numba.njit
def made(a: Any) -> Any:
    return np.empty(3)[0]


@numba.njit(parallel=True)
def spread(a: Any) -> None:
    for i in numba.prange(a.size):
        a[i] = 0


@numba.njit
def raising(a: Any, n: int) -> Any:
    if n > 3:
        raise ValueError("too many")
    return a[0]


@numba.njit
def summed(a: Any) -> Any:
    total = 0
    for each in a:
        total += each
    return total


@numba.njit
def helped(a: Any) -> Any:
    return summed(a)


@numba.njit("int64(int64[::1])")
def frozen(a: Any) -> Any:
    return summed(a)


@numba.njit
def factorial(n: int) -> Any:
    return 1 if n < 2 else n * factorial(n - 1)


def found(call: Call, other: Call) -> Any:
    """How the call of one function compares with that of another one."""
    ir = str(other.job.ir).replace(other.harness.entry, call.harness.entry)
    base, code = (compile_job(each).code for each in (call.job, replace(other.job, ir=ir)))
    return check(call.harness, base, {"same": base, "other": code})


def test_a_call_computes_what_the_function_does() -> None:
    orders: dict[str, Any] = {"f4": "C", "u2": "F"}
    for kind, order in orders.items():
        array = np.asarray(np.arange(12).reshape(3, 4), dtype=kind, order=order)
        arguments = (array, 2.0, kind[0] != "u")
        call = call_of(running, *arguments)
        call.harness.check(call.job.ir)
        outcomes = found(call, call_of(another, *arguments))
        states = {name: outcome.state for name, outcome in outcomes.items()}
        assert states == {"same": "ok", "other": "wrong result"}, kind
        left = array.copy(order="K")
        running.py_func(left, *arguments[1:])
        difference = outcomes["other"].difference
        assert (difference.argument, difference.differing) == (0, 1), kind
        assert difference.expected == left[1, 0], kind
        assert (array == np.arange(12).reshape(3, 4)).all(), kind


def vectorized(fresh: FreshProcess, job: Job, *options: str) -> bool:
    ir = fresh.compile(replace(job, options=options, emit="ir")).ir
    assert ir is not None
    return " x i64>" in ir


def test_loops_of_what_it_calls_see_the_options_that_are_tried(fresh: FreshProcess) -> None:
    """Also of helpers that ran before, where Numba has optimised them already."""
    array = np.arange(100)
    assert helped(array) == frozen(array) == 4950
    for function in (helped, frozen):
        job = call_of(function, array).job
        assert vectorized(fresh, job)
        assert not vectorized(fresh, job, "-force-vector-width=1")
    call = call_of(factorial, 5)
    code = fresh.compile(call.job).code
    assert check(call.harness, code, {"same": code})["same"].state == "ok"


def test_an_exception_ends_the_process_that_measures() -> None:
    array = np.ones(4)
    calls = [call_of(raising, array, n) for n in (1, 4)]
    code = compile_job(calls[0].job).code
    assert check(calls[0].harness, code, {"a": code})["a"].state == "ok"
    with pytest.raises(OptctxError, match="the base cannot be measured"):
        check(calls[1].harness, code, {"a": code})


def test_a_returned_number_is_compared_and_options_of_a_function_do_not_count(fresh: FreshProcess) -> None:
    array = np.linspace(0, 1, 50, dtype=np.float32)
    own = optctx.numba.njit(options={"force-vector-width": 1}, fastmath=True)(dot.py_func)
    assert own(array, array) == pytest.approx(dot(array, array))
    call = call_of(dot, array, array)
    assert found(call, call_of(own, array, array))["other"].state == "ok"
    assert call.harness.returns == "f64"
    assert call.harness.arguments[0] == Array("f32", (50,), contents=array.tobytes(), output=True)
    codes = [compile_job(each.job).code for each in (call_of(own, array, array), call)]
    assert len(codes[0]) == len(codes[1])
    helper = optctx.numba.njit(options={"force-vector-width": 1})(summed.py_func)
    job = call_of(numba.njit(lambda a: helper(a)), np.arange(100)).job
    assert vectorized(fresh, job)


def test_what_is_no_kernel_is_refused() -> None:
    refused: list[tuple[Any, tuple[Any, ...], str]] = [
        (dot.py_func, (np.ones(4), np.ones(4)), "expected a function of numba.njit"),
        (dot, (np.ones(8)[::2], np.ones(4)), "argument 1: it is not contiguous"),
        (dot, (np.ones(4, dtype=complex), np.ones(4)), "argument 1 of Numba's type complex128"),
        (half, ((1, 2),), "argument 1 of Numba's type UniTuple"),
        (made, (np.ones(4),), "it needs NRT_.*, of Numba's runtime"),
        (spread, (np.ones(4),), "leave that out"),
    ]
    for function, arguments, expected in refused:
        with pytest.raises(OptctxError, match=expected):
            call_of(function, *arguments)
