"""Runs of bound LLVMContexts, and of functions with options of their own, in code that was carried along."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from typing import Literal

import pytest
from llvmlite import binding

from optctx import OptionContext, ScopeError, _native, current, info
from optctx.travelling import attributes
from optctx.values import Layers
from tests.support.ir_texts import COUNTED, X86
from tests.support.rows import rows
from tests.support.scopes import (
    FOLLOWS_TASKS,
    OUTSIDE,
    UNROLLED_ONCE,
    both,
    copied_inside,
    eight,
    four,
    in_threads,
    running,
)

pytestmark = [pytest.mark.usefixtures("outside", "attributes")]

DuringARun = Callable[[Callable[[object], object]], None]

FOLLOWING = [True] if FOLLOWS_TASKS else [False, True]


def counts(bound: OptionContext | None) -> tuple[int, int]:
    """How often llvmlite's pass manager unrolls a loop, without and with an attribute that asks for 3."""
    binding.initialize_all_targets()
    own = COUNTED.replace("@count(ptr %out)", '@own(ptr %out) "optctx"="-unroll-count=3"')
    with (
        binding.create_context() as llvm_context,
        binding.parse_assembly(COUNTED + own, llvm_context) as module,
        binding.Target.from_triple(X86).create_target_machine() as machine,
    ):
        if bound is not None:
            bound.bind(llvm_context)
        manager = binding.create_new_module_pass_manager()
        manager.add_loop_unroll_pass()
        manager.run(module, binding.create_pass_builder(machine, binding.create_pipeline_tuning_options()))
        plain, with_attribute = (str(function).count("store volatile") for function in module.functions)
        return plain, with_attribute


@contextmanager
def asking() -> Iterator[DuringARun]:
    """Have a function called with the innermost context where LLVM asks for the options of an attribute."""
    steps: list[Callable[[object], object]] = []
    failed: list[BaseException] = []

    def resolve(
        image: int, text: bytes, here: OptionContext | None, before: int, triple: bytes
    ) -> Layers | Literal[False] | None:
        while steps:
            try:
                steps.pop()(here)
            except BaseException as error:
                failed.append(error)
        return attributes.resolve(image, text, here, before, triple)

    _native.set_callbacks(resolve=resolve)
    try:
        yield steps.append
    finally:
        _native.set_callbacks(resolve=attributes.resolve)
    assert not steps, "LLVM never asked"
    if failed:
        raise failed[0]


@rows(
    ("follows", "place", "bound"),
    itertools.product(
        FOLLOWING,
        ("outside", "entered", "carried"),
        (None, OptionContext({"unroll-count": 6}, base="defaults")),
    ),
)
def test_tasks_that_run_while_llvm_runs_change_nothing_for_it(
    follows: bool, place: str, bound: OptionContext | None
) -> None:
    outside, two = copy_context(), OptionContext({"unroll-count": 2}, base="defaults")
    context, inside = four(), copied_inside(eight())
    expected = 6 if bound else (UNROLLED_ONCE if place == "outside" else 4)
    seen: list[object] = []
    with running(follows) as run_in, asking() as during_a_run:

        def step(here: object) -> None:
            seen.append(here)
            before = info()["active_scopes"]
            assert run_in(inside, both) == (8, 8)
            # What has the same mark as the run is part of it.
            assert run_in(outside, both) == ((6, 6) if bound and place == "outside" else OUTSIDE)
            with two:
                assert (both(), current()) == ((2, 2), two)
                assert run_in(inside, both) == (8, 8)
                assert both() == (2, 2)
            assert run_in(inside, lambda: two.run(both)) == (2, 2)
            assert info()["active_scopes"] == before
            if place == "entered":
                assert current() is context
            if place == "entered" and bound:
                with pytest.raises(ScopeError, match="not the innermost"):
                    context.__exit__()

        def work() -> object:
            during_a_run(step)
            return counts(bound), counts(None), both()

        def carried() -> None:
            assert run_in(copied_inside(context), work) == ((expected, 3), (4, 3), (4, 4))

        if place == "outside":
            assert work() == ((expected, 3), (UNROLLED_ONCE, 3), OUTSIDE)
        elif place == "entered":
            with context:
                assert work() == ((expected, 3), (4, 3), (4, 4))
        else:
            in_threads([carried])
            with eight():
                carried()
                assert both() == (8, 8)
    assert set(seen) == {bound or (None if place == "outside" else context)}


def test_a_scope_that_is_left_open_while_llvm_runs_outlives_the_run() -> None:
    context, six = four(), OptionContext({"unroll-count": 6}, base="defaults")
    with asking() as during_a_run:
        during_a_run(lambda here: context.__enter__() and None)
        counts(six)
        assert (both(), current()) == ((4, 4), context)
        context.__exit__()
