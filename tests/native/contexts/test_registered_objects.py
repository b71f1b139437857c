"""Code inside a scope that asks LLVM for its options gets objects of its own, and may write to them."""

from __future__ import annotations

import ctypes
import struct

import pytest

from optctx import OptionContext, contained, current, registry
from optctx._native import (
    read_words,
    replace_add_occurrence,
    share_storage_from,
    storage_shown,
    walk_registry,
)
from optctx.compiling import FreshProcess, Job, compile_job
from optctx.engine.attach import attach
from optctx.engine.engine import Engine
from optctx.image.facts.mangled_names import ADD_OCCURRENCE
from tests.support.alone import alone
from tests.support.ir_texts import COUNTED, X86
from tests.support.scopes import both, four, in_threads, registered_options, reset_all, set_option, unrolled

pytestmark = [pytest.mark.usefixtures("attached", "outside", "unchanged")]


def registered() -> dict[str, int]:
    """Name -> address of the Option, as `cl::getRegisteredOptions` tells them on this thread."""
    layout, options = walk_registry(registered_options())
    assert layout == attach().survey.registry.layout
    return dict(options)


def value_at(name: str) -> int:
    """Where this thread's object keeps the value: in itself, or where its cl::location leads."""
    option = attach().options[name]
    at = registered()[name] + option.value_offset
    return read_words(at, 1)[0] if option.type.external else at


def write(name: str, value: int) -> None:
    """What cl::opt<T>::setValue writes to the object that LLVM gives out, and that it counts as given."""
    data = struct.pack({"bool": "?", "uint": "I", "int": "i"}[registry()[name].type], value)
    ctypes.memmove(value_at(name), data, len(data))
    ctypes.c_uint16.from_address(registered()[name] + 8).value = 1


def test_every_option_that_contexts_can_hold_has_an_object_of_the_scopes_own() -> None:
    outside = registered()
    with contained():
        inside = registered()
        assert registered() == inside  # as LLVM gives the same map each time
        with contained():
            assert not set(inside.values()) & (set(registered().values()) - set(outside.values()))
    assert registered() == outside
    assert inside.keys() == outside.keys()
    own = {name for name in inside if inside[name] != outside[name]}
    assert own == {
        name for name, option in attach().options.items() if option.slot is not None and not option.alias_of
    }


def test_a_value_written_to_the_object_is_what_llvm_reads_there(fresh: FreshProcess) -> None:
    job = Job(COUNTED, "default<O3>", triple=X86, emit="assembly")
    chosen: dict[str, int] = {
        "unroll-count": 4,
        "inline-threshold": 1,
        "force-vector-width": 8,  # cl::location
        "unroll-runtime": True,
        "min-jump-table-entries": 100,  # which some targets write
    }
    args = [f"-{name}={str(value).lower()}" for name, value in chosen.items()]
    expected = fresh.compile(Job(COUNTED, "default<O3>", tuple(args), X86, emit="assembly"))
    plain = fresh.compile(job)
    assert expected.code != plain.code

    def work() -> None:
        with contained() as context:
            for name, value in chosen.items():
                write(name, value)
            assert compile_job(job) == expected
            seen = context.with_sets()
            assert {name: seen[name] for name in chosen} == chosen
            assert current() == seen
            assert compile_job(job) == expected
        assert compile_job(job) == plain

    in_threads([work, work])


def test_a_string_assigned_to_the_object_leaves_the_contexts_own_whole() -> None:
    """C++ gives back the object's share of the old string then, and frees that if nobody else has one."""
    assign = ctypes.CDLL("libstdc++.so.6")["_ZNSs6assignEPKcm"]  # std::string::assign, as LLVM was built
    assign.argtypes, assign.restype = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t), ctypes.c_void_p
    name = "dot-cfg-dir"  # one of those that each scope has copies of, because LLVM itself may write to them
    contexts = {letter * 99: OptionContext({name: letter * 99}, base="defaults") for letter in "abc"}
    for _ in range(4):
        for text, context in contexts.items():
            with context:
                assert (context[name], text_of(name)) == (text, text)
                assign(value_at(name), b"z" * 99, 99)
                assert (context[name], text_of(name)) == (text, "z" * 99)


@alone
def test_a_deeply_nested_scope_gives_its_share_of_a_string_back() -> None:
    share_storage_from(0)
    context, shares = OptionContext({"dot-cfg-dir": "p" * 99}, base="defaults"), set()
    for _ in range(3):
        with context:
            characters = read_words(value_at("dot-cfg-dir"), 1)[0]
            shares.add(ctypes.c_int.from_address(characters - 8).value)
    assert len(shares) == 1


def text_of(name: str) -> str:
    return ctypes.string_at(read_words(value_at(name), 1)[0]).decode()


@alone
def test_objects_of_a_deeply_nested_scope_are_its_own_and_there_again_after_another() -> None:
    share_storage_from(0)
    inner = contained()
    with contained():
        write("unroll-count", 4)
        for _ in range(2):
            with inner:
                assert unrolled() == 1
                write("unroll-count", 8)
                assert unrolled() == 8
            assert unrolled() == 4
        write("unroll-count", 2)
        assert unrolled() == 2
    with four():
        assert unrolled() == 4


def test_setters_and_pointers_work_on_the_same_values() -> None:
    with four() as context:
        set_option("unroll-count", "8")
        write("inline-threshold", 3)
        assert both() == (8, 8)
        write("unroll-count", 2)
        assert both() == (2, 2)
        assert (current()["unroll-count"], current()["inline-threshold"]) == (2, 3)
        set_option("unroll-count", "4")
        assert (both(), value_of("unroll-count")) == ((4, 4), 4)
        assert context.with_sets()["inline-threshold"] == 3
        with OptionContext() as nested:
            assert (nested["unroll-count"], nested["inline-threshold"]) == (4, 3)
            write("unroll-count", 8)
            assert both() == (8, 8)
        assert both() == (4, 4)
        reset_all()
        assert (both(), value_of("unroll-count"), value_of("inline-threshold")) == ((1, 1), 0, 225)
    with context:
        assert both() == (4, 4)


def value_of(name: str) -> int:
    return ctypes.c_uint.from_address(value_at(name)).value


def test_an_occurrence_given_to_the_object_is_the_scopes() -> None:
    """`Option::addOccurrence`, through the table of virtual functions, as C++ calls it."""
    engine = attach()
    with contained() as context:
        address = registered()["unroll-count"]
        assert add_occurrence(engine, address, b"unroll-count", b"8") is False
        assert unrolled() == 8
        assert context.with_sets().args() == ["-unroll-count=8"]
        assert ctypes.c_uint16.from_address(address + 8).value == 1
        assert add_occurrence(engine, engine.options["unroll-count"].address, b"unroll-count", b"4") is False
        assert (unrolled(), ctypes.c_uint16.from_address(address + 8).value) == (4, 2)


def test_an_occurrence_that_llvm_counts_in_a_scopes_copy_is_gone_at_the_next_entry() -> None:
    """With `sets="process"` LLVM's own function gets the copy that LLVM took the address of."""
    engine = attach()
    option = engine.options["min-jump-table-entries"]
    assert option.slot is not None
    context = OptionContext(sets="process")
    found = []
    for _ in range(2):
        with context:
            copy = storage_shown(engine.index, option.slot)
            assert copy is not None
            found.append((copy, ctypes.c_uint16.from_address(copy + 8).value))
            assert add_occurrence(engine, copy, b"min-jump-table-entries", b"9") is False
            assert ctypes.c_uint16.from_address(copy + 8).value == 1
    assert found == [(found[0][0], 0)] * 2


def add_occurrence(engine: Engine, option: int, name: bytes, value: bytes) -> bool:
    replacement = replace_add_occurrence(engine.index, engine.image.findings.need(ADD_OCCURRENCE).address)
    table = read_words(read_words(option, 1)[0], 16)
    assert replacement in table
    call = ctypes.CFUNCTYPE(
        ctypes.c_bool,
        ctypes.c_void_p,
        ctypes.c_uint,
        ctypes.c_char_p,
        ctypes.c_size_t,
        ctypes.c_char_p,
        ctypes.c_size_t,
        ctypes.c_bool,
    )(replacement)
    return bool(call(option, 1, name, len(name), value, len(value), False))
