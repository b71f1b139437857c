"""Tools in one process, written as LLVM's own are: each resets all options, parses its own, works, resets."""

from __future__ import annotations

import ctypes
import importlib
import locale
import pathlib
import sys
from collections.abc import Callable, Iterator
from functools import partial

import pytest
from llvmlite.binding import ffi

from optctx import OptionContext, contained, current, drift, tool
from optctx.engine.attach import attach
from optctx.image.facts.mangled_names import PARSE_OPTIONS, RESET_OPTIONS
from tests.support.cpp_build import SHARED, Build
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
def run_tool(build: Build) -> Tool:
    """tests/programs/cpp/nested_tool.cpp, loaded: how often it unrolls the loop, with these arguments."""
    library = pathlib.Path(ffi.lib._name)
    link = [f"-L{library.parent}", f"-l:{library.name}", f"-Wl,-rpath,{library.parent}"]
    # The libraries come after the file that needs them.
    loaded = ctypes.CDLL(str(build("nested_tool.cpp", *SHARED, "-Wl,--no-as-needed", *link)))
    loaded.run_tool.restype = ctypes.c_size_t
    need = attach().image.findings.need
    parser = (ctypes.c_void_p * 2)(need(RESET_OPTIONS).address, need(PARSE_OPTIONS).address)

    def run(*arguments: str) -> int:
        given = [b"tool", *(each.encode() for each in arguments)]
        room = ctypes.create_string_buffer(1 << 16)
        size = loaded.run_tool(
            parser,
            ctypes.c_int(len(given)),
            (ctypes.c_char_p * len(given))(*given),
            COUNTED.encode(),
            room,
            ctypes.c_size_t(len(room)),
        )
        assert size == len(room.value) > 0
        return room.value.count(b"store volatile")

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
