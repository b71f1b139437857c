"""LLVM makes no TargetMachine for the values in force: one error, and everything is as it was."""

from __future__ import annotations

import contextlib
import ctypes
import functools
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from llvmlite import binding

from optctx import OptionContext, UnsupportedImageError, run_passes
from optctx._native import forget_machines, idle_machines
from optctx.compiling import FreshProcess
from optctx.engine.attach import attach
from tests.optctx.hosts.shared_machines import (
    EMITS,
    PASSES,
    SOURCE,
    Options,
    compiled,
    expected,
    make_machine,
)
from tests.support.ir_texts import X86
from tests.support.library_code import LLVMLITE
from tests.support.rows import rows
from tests.support.scopes import process_state

pytestmark = [pytest.mark.redirected, pytest.mark.usefixtures("attached")]

OPTIONS: Options = {"min-bit-test-cmps": 100, "trap-unreachable": True}
WORDS = "LLVM made no target machine for them .*make the target machine inside the scope"


def llvm_function(name: str, result: Any = None) -> Any:
    address = attach().image.symbol(name)
    assert address is not None, name
    return ctypes.CFUNCTYPE(result, ctypes.c_void_p)(address)


@functools.cache
def factory(target: int) -> Any:
    """The pointer in LLVM's Target to the function that makes machines, found by experiment on a copy."""
    has_machine = llvm_function("LLVMTargetHasTargetMachine", ctypes.c_int)
    words = (ctypes.c_void_p * 16).from_address(target)
    for index in range(len(words)):
        copy = (ctypes.c_void_p * len(words))(*words)
        copy[index] = None
        if not has_machine(ctypes.addressof(copy)):
            return ctypes.c_void_p.from_address(target + index * ctypes.sizeof(ctypes.c_void_p))
    raise AssertionError("no pointer of the target matters to LLVMTargetHasTargetMachine")


@contextlib.contextmanager
def no_more_machines(machine: Any) -> Iterator[None]:
    """LLVM's target is as if it had been registered without code generation: it makes no machine."""
    place = factory(llvm_function("LLVMGetTargetMachineTarget", ctypes.c_void_p)(machine._ptr))
    made_by, place.value = place.value, None
    try:
        yield
    finally:
        place.value = made_by


def passes(machine: Any) -> None:
    with binding.create_context() as context, binding.parse_assembly(SOURCE, context) as module:
        run_passes(module, PASSES, target_machine=machine)


def emission(emit: str, bound: bool) -> Callable[[Any], None]:
    def work(machine: Any) -> None:
        with binding.create_context() as context, binding.parse_assembly(SOURCE, context) as module:
            if bound:
                OptionContext(OPTIONS).bind(context)
            module.triple = machine.triple
            EMITS[emit](module, machine)

    return work


CALLS: dict[str, Callable[[Any], object]] = {
    "run_passes": passes,
    **{emit: emission(emit, bound=False) for emit in EMITS},
    "target_data": lambda machine: machine.target_data,
}
BOUND = {f"{emit} of a bound module": emission(emit, bound=True) for emit in EMITS}


def fails(call: Callable[[Any], object], machine: Any) -> None:
    """Twice, since nothing of the first time may be in the way of the second."""
    with no_more_machines(machine):
        for _ in range(2):
            with pytest.raises(UnsupportedImageError, match=WORDS) as caught:
                call(machine)
            assert caught.value.__context__ is None
    assert idle_machines(LLVMLITE) == 0


def judge(fresh: FreshProcess, machine: Any) -> None:
    """LLVM may have built something for the machine when there was no other; that is for no values at all."""
    scoped, plain = (expected(fresh, X86, options) for options in (OPTIONS, {}))
    for _ in range(2):
        assert compiled(machine) == plain
        with OptionContext(OPTIONS):
            assert compiled(machine) == scoped


@rows("call", [*CALLS, *BOUND])
def test_the_call_raises_one_error_and_everything_is_as_it_was(fresh: FreshProcess, call: str) -> None:
    """Inside a scope, outside for a machine of a scope, and for a bound module."""
    scope, outside = OptionContext(OPTIONS), contextlib.nullcontext()
    for made_in, used_in in ((outside, scope), (scope, outside)) if call in CALLS else ((outside, outside),):
        forget_machines(LLVMLITE)
        before = process_state()
        with made_in:
            machine = make_machine()
        with machine:
            with used_in:
                fails({**CALLS, **BOUND}[call], machine)
            assert process_state() == before
            judge(fresh, machine)
