"""What LLVM itself writes into options while it compiles stays inside the scope, and is gone after it."""

from __future__ import annotations

import ctypes
from dataclasses import replace

from optctx import OptionContext, contained, current, registry
from optctx._native import replace_add_occurrence, storage_shown
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


def copy_of(name: str) -> int:
    """The address of this scope's object of an option, as LLVM may take it."""
    engine = attach()
    slot = engine.options[name].slot
    found = None if slot is None else storage_shown(engine.index, slot)
    assert found is not None
    return found


def test_a_string_assigned_to_the_object_leaves_the_contexts_own_whole() -> None:
    """C++ gives back the object's share of the old string then, and frees that if nobody else has one."""
    assign = ctypes.CDLL("libstdc++.so.6")["_ZNSs6assignEPKcm"]  # std::string::assign, as LLVM was built
    assign.argtypes, assign.restype = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t), ctypes.c_void_p
    name = "dot-cfg-dir"
    contexts = {letter * 99: OptionContext({name: letter * 99}, base="defaults") for letter in "abc"}
    for _ in range(4):
        for text, context in contexts.items():
            with context:
                string = copy_of(name) + attach().options[name].value_offset
                for expected in (text, "z" * 99):
                    [characters] = read_words(string, 1)
                    assert (context[name], ctypes.string_at(characters).decode()) == (text, expected)
                    assign(string, b"z" * 99, 99)


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
