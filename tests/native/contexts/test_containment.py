"""What LLVM itself writes into options while it compiles stays inside the scope, and is gone after it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from optctx import OptionContext, contained, current, registry
from optctx._native import exposed_offset, read_bytes, replace_add_occurrence, storage_shown
from optctx.compiling import Job, compile_job
from optctx.engine.attach import attach
from optctx.image.facts.mangled_names import ADD_OCCURRENCE
from tests.promises.answers import WRITER
from tests.support.alone import alone
from tests.support.ir_texts import X86
from tests.support.library_code import read_words
from tests.support.scopes import in_threads, process_state

JOB = replace(WRITER, triple=X86)
TABLE = ".LJTI"  # of its switch


def entries() -> object:
    return registry()["min-jump-table-entries"].value


@alone
def test_inside_a_scope_it_reaches_neither_the_process_nor_another_thread_nor_the_next_scope() -> None:
    plain = compile_job(JOB)
    assert TABLE in plain.code.decode()
    assert entries() == 4
    before = process_state()
    context = OptionContext({"unroll-count": 2})
    with context:
        assert compile_job(WRITER).error is None
        assert TABLE not in compile_job(JOB).code.decode()  # in here it is as in a process of its own

        def elsewhere() -> None:
            assert compile_job(JOB) == plain
            with context:
                assert compile_job(JOB) == plain

        in_threads([elsewhere])
        with context:
            assert compile_job(JOB) == plain
        assert TABLE not in compile_job(JOB).code.decode()
    assert process_state() == before
    assert compile_job(JOB) == plain
    with context:
        assert compile_job(JOB) == plain
    assert context["min-jump-table-entries"] == 4

    compile_job(WRITER)  # outside every scope it stays, as in stock LLVM
    leaked = compile_job(JOB)
    assert (entries(), TABLE in leaked.code.decode()) == (2**32 - 1, False)
    assert registry()["min-jump-table-entries"].default == 4
    with OptionContext(base="defaults"):
        assert compile_job(JOB) == plain
    with OptionContext():
        assert compile_job(JOB) == leaked

    def calls() -> object:  # whose storage cl::location names
        return registry()["amdgpu-function-calls"].value

    amd = Job("define i32 @f(i32 %x) {\n ret i32 %x\n}", "default<O0>", triple="r600-amd-amdhsa")
    with OptionContext(base="defaults"):
        compile_job(amd)
    assert calls() is True
    compile_job(amd)
    assert calls() is False
    assert OptionContext(base="defaults")["amdgpu-function-calls"] is True


# Copies of an option that each scope has, because LLVM itself may write to it


def copy_of(name: str, of: str = "slot") -> int:
    """The address of this scope's object of an option, or of its value (`value_slot`)."""
    engine = attach()
    found = storage_shown(engine.index, getattr(engine.options[name], of))
    assert found is not None
    return found


def take_address(name: str) -> int:
    """Return the same as code of LLVM's does, which notes that it is taken (native/arch/sites.hpp)."""
    pthread_self = ctypes.CDLL(None)["pthread_self"]  # the thread pointer
    pthread_self.restype = ctypes.c_size_t
    group = cast(int, attach().options[name].slot) // 16 % 128
    ctypes.c_bool.from_address(pthread_self() + exposed_offset() + group).value = True
    return copy_of(name)


PROFILED = """
    define i32 @f(i32 %x) "use-sample-profile" !dbg !1 { ret i32 %x }
    !llvm.dbg.cu = !{!0}
    !llvm.module.flags = !{!3}
    !0 = distinct !DICompileUnit(language: DW_LANG_C, file: !2, emissionKind: LineTablesOnly)
    !1 = distinct !DISubprogram(name: "f", file: !2, line: 1, unit: !0)
    !2 = !DIFile(filename: "f.c", directory: "")
    !3 = !{i32 2, !"Debug Info Version", i32 3}
"""


@alone
def test_what_llvm_writes_through_an_address_is_gone_at_the_next_entry(tmp_path: Path) -> None:
    profile = tmp_path / "profile"
    profile.write_text("[f]:100:10\n 1: 10\n")  # has contexts: LLVM turns options on for that
    context = OptionContext({"sample-profile-file": str(profile)})
    written = ("enable-ext-tsp-block-placement", "use-iterative-bfi-inference", "sample-profile-use-profi")
    before = process_state()

    def turned_on() -> list[bool]:
        engine = attach()
        return [read_bytes(copy_of(name) + engine.options[name].value_offset, 1) != b"\0" for name in written]

    for _ in range(3):
        with context:
            assert turned_on() == [False] * 3
            assert compile_job(Job(PROFILED, "sample-profile", triple=X86)).error is None
            assert turned_on() == [True] * 3
    assert process_state() == before


# LLVM finds the address of the second in a table.
@pytest.mark.parametrize(("name", "address"), [("dot-cfg-dir", take_address), ("stop-after", copy_of)])
def test_a_string_assigned_to_the_object_leaves_the_contexts_own_whole(
    name: str, address: Callable[[str], int]
) -> None:
    """C++ gives back the object's share of the old string then, and frees that if nobody else has one."""
    assign = ctypes.CDLL("libstdc++.so.6")["_ZNSs6assignEPKcm"]  # std::string::assign, as LLVM was built
    assign.argtypes, assign.restype = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t), ctypes.c_void_p
    contexts = {letter * 99: OptionContext({name: letter * 99}, base="defaults") for letter in "abc"}
    for _ in range(4):
        for text, context in contexts.items():
            with context:
                string = address(name) + attach().options[name].value_offset
                for expected in (text, "z" * 99):
                    [characters] = read_words(string, 1)
                    assert (context[name], ctypes.string_at(characters).decode()) == (text, expected)
                    assign(string, b"z" * 99, 99)


def test_copies_that_llvm_has_an_address_of_start_anew_under_another_context_too() -> None:
    name = "min-jump-table-entries"
    context = OptionContext(unroll_count=5)
    with context:
        address = take_address(name)
    del context  # the next one has its copies
    context = OptionContext(unroll_count=6)
    for _ in range(2):
        with context:
            assert copy_of(name) == address
            value = ctypes.c_uint.from_address(address + attach().options[name].value_offset)
            assert value.value == 4
            value.value = 5


def test_a_variable_that_code_finds_in_its_option_starts_anew_at_the_next_entry() -> None:
    context = OptionContext(force_vector_interleave=3)
    for _ in range(2):
        with context:
            variable = ctypes.c_uint.from_address(copy_of("force-vector-interleave", "value_slot"))
            assert variable.value == 3
            variable.value = 5


def test_an_occurrence_given_to_a_scopes_copy_is_the_scopes_and_gone_at_the_next_entry() -> None:
    """LLVM may have taken the address of the copy."""
    context, name = contained(), b"min-jump-table-entries"
    engine = attach()
    replacement = replace_add_occurrence(engine.index, engine.image.findings.need(ADD_OCCURRENCE).address)
    text = (ctypes.c_char_p, ctypes.c_size_t)
    kind = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_uint, *text, *text, ctypes.c_bool)
    for _ in range(2):
        with context:
            assert entries() == context[name.decode()] == current()[name.decode()] == 4
            copy = copy_of(name.decode())
            # As C++ calls Option::addOccurrence, through the table of virtual functions.
            assert replacement in read_words(read_words(copy, 1)[0], 16)
            assert kind(replacement)(copy, 1, name, len(name), b"9", 1, False) is False
            assert context.with_sets().args() == ["-min-jump-table-entries=9"]
