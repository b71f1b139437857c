"""Tools in one process, written as LLVM's own are: each resets all options, parses its own, works, resets."""

from __future__ import annotations

import ctypes
import importlib
import locale
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial

import pytest
from llvmlite.binding import ffi

from optctx import OptionContext, contained, current, drift, tool
from optctx.engine.attach import attach
from optctx.image.facts.mangled_names import PARSE_OPTIONS, RESET_OPTIONS
from tests.support.bare_llvm import BareLlvm
from tests.support.ir_texts import COUNTED
from tests.support.processes import forked
from tests.support.scopes import UNROLLED_ONCE, both, four, in_threads, process_state, set_option

pytestmark = [pytest.mark.usefixtures("attached", "outside")]

Tool = Callable[..., int]


@pytest.fixture(autouse=True)
def _the_locale_stays() -> Iterator[None]:
    """llvmlite prints a module under the locale "C", and two threads that do so at once leave it at that."""
    before = locale.setlocale(locale.LC_ALL)
    yield
    locale.setlocale(locale.LC_ALL, before)


@pytest.fixture(scope="module")
def run_tool() -> Tool:
    """Run a tool with these arguments, past llvmlite and its lock: how often it unrolls the loop."""
    llvm, printing = BareLlvm(ffi.lib._name), threading.Lock()
    need = attach().image.findings.need
    reset = ctypes.CFUNCTYPE(None)(need(RESET_OPTIONS).address)
    # (number of words, words, overview and its size, errors, files, variable, long options with two dashes)
    types = (
        ctypes.c_int,
        ctypes.c_void_p,
        ctypes.c_char_p,
        ctypes.c_size_t,
        *[ctypes.c_void_p] * 3,
        ctypes.c_bool,
    )
    parse = ctypes.CFUNCTYPE(ctypes.c_bool, *types)(need(PARSE_OPTIONS).address)

    def run(*arguments: str) -> int:
        words = [b"tool", *(each.encode() for each in arguments)]
        reset()
        assert parse(len(words), (ctypes.c_char_p * len(words))(*words), b"", 0, None, None, None, False)
        with llvm.module(COUNTED) as (_, module):
            llvm.run(module)
            with printing:
                text = llvm.text(module)
        reset()
        return text.count("store volatile")

    return run


@forked
def test_without_a_scope_a_tool_undoes_what_its_caller_has_set(run_tool: Tool) -> None:
    """LLVM's open case (issue 182385): what this package is for."""
    set_option("inline-threshold", "3")
    assert run_tool("-unroll-count=4") == 4
    assert not drift()


@forked
def test_values_occurrences_and_positions_of_the_caller_are_what_they_were(run_tool: Tool) -> None:
    set_option("unroll-count", "8")
    set_option("force-attribute", "f:cold")
    set_option("x86-asm-syntax", "intel")
    before = process_state(), _raw_state()
    assert any(count for _, count in before[0].values())
    with tool():
        assert run_tool("-unroll-count=4", "-force-attribute=f:noinline") == 4
    assert (process_state(), _raw_state()) == before
    with four() as outer:
        set_option("inline-threshold", "3")
        inside = outer.with_sets()
        with tool(["-unroll-count=3"]) as session:
            assert run_tool("-unroll-count=2") == 2
            assert session.with_sets() == tool() == current()
            with tool():
                assert run_tool("-unroll-count=3") == 3
        assert outer.with_sets() == inside
        assert both() == (4, 4)
    assert (process_state(), _raw_state()) == before
    assert both() == (8, 8)


def test_tools_on_four_threads_do_not_meet(run_tool: Tool) -> None:
    """Not even in LLVM's parser, which works for one thread at a time."""
    before = process_state(), _raw_state()

    def work(count: int) -> None:
        for _ in range(10):
            with contained() as context:
                assert run_tool(f"-unroll-count={count}") == count
                assert context.with_sets() == OptionContext(base="defaults")
                set_option("unroll-count", "3")
                assert both() == (3, 3)
            assert both() == (UNROLLED_ONCE, UNROLLED_ONCE)

    in_threads([partial(work, count) for count in (1, 2, 4, 8)])
    assert not drift()
    assert (process_state(), _raw_state()) == before


@forked
def test_threads_wait_for_the_parser_where_a_subinterpreter_has_been(run_tool: Tool) -> None:
    """From then on `PyGILState_Check` takes every thread for one that holds the GIL."""
    name = "_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters"
    interpreters = importlib.import_module(name)
    interpreters.destroy(interpreters.create())

    def work() -> None:
        for _ in range(40):
            with tool():
                assert run_tool("-unroll-count=4") == 4

    in_threads([work, work, work])


def _raw_state() -> list[tuple[int, bytes]]:
    """Occurrences, flags and position of every option, as they are in LLVM's own objects."""
    addresses = sorted(attach().plan.options)
    return [(address, ctypes.string_at(address + 8, 8)) for address in addresses]
