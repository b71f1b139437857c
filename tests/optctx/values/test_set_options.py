"""An option that is a std::set of an enum (`spirv-ext`): parsed, copied, compared and contained as any other.

LLVM writes to it whenever it makes a target machine for AMD's or Intel's SPIR-V, and reads it only then.
Stock LLVM gives other output for SPIR-V once a process has compiled for it: each compilation is in a child.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import Any

import pytest
from llvmlite import binding

from optctx import OptionContext, drift, record, registry
from optctx._native import Kind, read_set
from optctx.compiling import FreshProcess, Job, compile_job
from optctx.engine.attach import attach
from optctx.image.abi import parse_vtable_name
from optctx.image.options import find_element_names
from tests.support.alone import alone
from tests.support.processes import SECONDS, in_child
from tests.support.scopes import in_threads, meanwhile, reset_all, set_option

pytestmark = pytest.mark.usefixtures("attached")

# Its linkage and the flag of its addition are told by extensions of their own.
SUM = """
define linkonce_odr spir_func i32 @sum(i32 %a, i32 %b) {
  %sum = add nsw i32 %a, %b
  ret i32 %sum
}
"""
TRIPLE = "spirv64-unknown-unknown"
AMD = "spirv64-amd-amdhsa"  # making a machine for it replaces the set by every extension that AMD has
JOB = Job(SUM, "verify", triple=TRIPLE, emit="assembly")
WRAP, SHARE = "SPV_KHR_no_integer_wrap_decoration", "SPV_KHR_linkonce_odr"
TEXTS = ("", f"+{WRAP}", f"+{SHARE}", f"+{WRAP},+{SHARE}", "all", f"all,-{WRAP}")


@cache
def expected(fresh: FreshProcess, text: str | None) -> bytes:
    """What a process gives in which the option is set for everybody."""
    result = fresh.compile(JOB if text is None else replace(JOB, options=(f"-spirv-ext={text}",)))
    assert result.error is None
    return result.code


def said(work: Callable[[], bytes]) -> bytes:
    """What a child says that is in the scope that this thread is in."""
    reading, writing = os.pipe()
    try:
        in_child(lambda: os.write(writing, work()))
        return os.read(reading, 1 << 16)
    finally:
        os.close(reading)
        os.close(writing)


def code() -> bytes:
    return said(lambda: compile_job(JOB).code)


def code_after_amd() -> bytes:
    machine(AMD).close()
    return compile_job(JOB).code


def machine(triple: str) -> binding.TargetMachine:
    return binding.Target.from_triple(triple).create_target_machine(opt=JOB.opt_level)


def test_a_set_does_what_it_does_in_a_fresh_process(fresh: FreshProcess) -> None:
    plain, replaced = expected(fresh, None), said(code_after_amd)
    for text in TEXTS:
        wanted = expected(fresh, text)
        assert (wanted == plain) == (text == ""), text
        with OptionContext.from_args([f"-spirv-ext={text}"]):
            assert code() == wanted, text
            with OptionContext({"unroll-count": 2}), OptionContext(base="defaults"):
                assert code() == plain
            assert code() == wanted, text
            machine(AMD).close()
            assert code() == replaced, "what LLVM writes is there until the scope ends"
        assert code() == plain, text


def test_threads_inside_at_once_have_their_own(fresh: FreshProcess) -> None:
    made: dict[tuple[int, str], binding.TargetMachine] = {}
    both_inside = threading.Barrier(2)

    def work(first: int) -> None:
        for step in range(2 * len(TEXTS)):
            text = TEXTS[(first + step) % len(TEXTS)]
            context = OptionContext({"spirv-ext": text})
            with context:
                both_inside.wait(SECONDS)
                for _ in range(10):
                    machine(AMD).close()  # writes what only this scope reads
            with context:
                both_inside.wait(SECONDS)
                made[first, text] = [machine(TRIPLE) for _ in range(10)][-1]

    in_threads([lambda: work(0), lambda: work(3)])
    assert len(made) == 2 * len(TEXTS)
    assert registry()["spirv-ext"].value == []
    wanted = {text: expected(fresh, text) for text in TEXTS}
    for (_, text), last in made.items():  # stock LLVM cannot emit two at once
        with OptionContext({"spirv-ext": text}):
            assert said(partial(emitted, last)) == wanted[text], text
    assert code() == wanted[""]


def emitted(made: binding.TargetMachine) -> bytes:
    with binding.create_context() as context, binding.parse_assembly(SUM, context) as module:
        module.triple = TRIPLE
        return made.emit_assembly(module).encode()


def test_values_are_names_and_names_are_values_in_any_order() -> None:
    option = registry()["spirv-ext"]
    assert (option.type, option.default, option.scope) == ("set", [], "thread")
    assert {WRAP, SHARE} < set(option.choices)
    assert OptionContext({"spirv-ext": "all"})["spirv-ext"] == list(option.choices)
    assert OptionContext({"spirv-ext": []})["spirv-ext"] == []
    assert OptionContext({"spirv-ext": ["all", f"-{WRAP}"]}).diff(OptionContext({"spirv-ext": "all"}))
    texts = (f"+{WRAP},+{SHARE}", f"+{SHARE},+{WRAP},+{WRAP}", [WRAP, SHARE], {SHARE, WRAP})
    contexts = [OptionContext({"spirv-ext": text}, base="defaults") for text in texts]
    both = f"-spirv-ext +{SHARE} --spirv-ext=+{WRAP},+{SHARE}"
    contexts.append(OptionContext.from_args(both, base="defaults"))
    contexts.append(pickle.loads(pickle.dumps(contexts[0])))
    contexts.append(OptionContext(contexts[0].overrides, base="defaults"))
    assert len({*contexts}) == 1
    assert all(context.diff(contexts[0]) == {} for context in contexts)
    assert sorted(contexts[0].get("spirv-ext", list)) == sorted([WRAP, SHARE])
    others = [OptionContext({"spirv-ext": text}, base="defaults") for text in ("", f"+{WRAP}", "all")]
    assert len({*contexts, *others, OptionContext(base="defaults")}) == 5
    assert contexts[0].diff(others[1]) == {"spirv-ext": (contexts[0]["spirv-ext"], [WRAP])}


def test_what_is_set_process_wide_is_inherited(fresh: FreshProcess) -> None:
    def child() -> None:
        early = OptionContext()
        set_option("spirv-ext", f"+{WRAP}")
        assert str(drift()) == f"spirv-ext: [] was registered, ['{WRAP}'] now (given once)"
        assert registry()["spirv-ext"].value == OptionContext()["spirv-ext"] == [WRAP]
        assert registry()["spirv-ext"].default == []
        assert pickle.loads(pickle.dumps(OptionContext())) == OptionContext() != early
        assert OptionContext({"spirv-ext": f"+{SHARE}"})["spirv-ext"] == [SHARE]
        for context, text in (
            (early, None),
            (OptionContext(), f"+{WRAP}"),
            (OptionContext(base="defaults"), None),
        ):
            with context:
                assert code() == expected_here[text]
        assert code() == expected_here[f"+{WRAP}"]
        reset_all()
        assert dict(drift()) == {}
        assert OptionContext() == early

    expected_here = {text: expected(fresh, text) for text in (None, f"+{WRAP}")}
    in_child(child)


def test_reads_are_recorded() -> None:
    def fingerprint(value: object, triple: str) -> str:
        with OptionContext({"spirv-ext": value}, base="defaults"), record() as log:
            machine(triple).close()
        assert ("spirv-ext" in log.reads) == (triple == TRIPLE)
        assert [each.name for each in log.unread] == ([] if triple == TRIPLE else ["spirv-ext"])
        if triple == TRIPLE:
            read = log.reads["spirv-ext"]
            assert read.value == OptionContext({"spirv-ext": value})["spirv-ext"]
            assert any("SPIRVSubtarget::SPIRVSubtarget(" in name for name in read.functions)
        return log.fingerprint()

    values = ["", f"+{WRAP}", f"+{SHARE}", "all"]
    assert len({fingerprint(value, TRIPLE) for value in values}) == len(values)
    assert fingerprint(f"+{SHARE},+{WRAP}", TRIPLE) == fingerprint([WRAP, SHARE], TRIPLE)
    assert len({fingerprint(value, "x86_64") for value in values}) == 1


@alone
def test_a_set_that_llvm_is_replacing_is_read_as_it_was_or_as_it_is() -> None:
    names: list[Any] = [OptionContext({"spirv-ext": text})["spirv-ext"] for text in ("", "all", "khr")]
    option = attach().options["spirv-ext"]
    value = option.place.address
    members = attach().image.functions_named([("_ZN4llvm2cl3optISt3setI", "")])[0]
    [found] = [each for each in members if "handleOccurrence" in each.name]
    text, size = ctypes.c_char_p, ctypes.c_size_t
    take = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint, text, size, text, size)(found.address)

    def write() -> None:
        for each in (b"all", b"khr"):  # on the way from one to the other it is empty
            take(option.address, 1, b"spirv-ext", 9, each, 3)

    sys.setswitchinterval(1e-6)
    seen: set[tuple[object, ...]] = set()
    until = time.monotonic() + SECONDS
    with meanwhile(write):
        while len(seen) < len(names) and time.monotonic() < until:
            seen.update({tuple(read_set(value)) for _ in range(1000)})
            assert registry()["spirv-ext"].value in names
            assert OptionContext(unroll_count=3)["spirv-ext"] in names
            assert OptionContext({"spirv-ext": f"+{WRAP}"})["spirv-ext"] == [WRAP]
    assert sorted(map(len, seen)) == [len(each) for each in sorted(names, key=len)], seen


def test_sets_are_told_by_their_type() -> None:
    assert {name: each.default for name, each in registry().items() if each.type == "set"} == {
        "spirv-ext": []
    }
    enum = "N1a1bE"
    name = "_ZTVN4llvm2cl3optISt3setI{}St4lessIS5_ESaIS5_EELb{}ENS_6parserE EE"
    found = parse_vtable_name(name.format(enum, 0), enumerated=True)
    assert (found.kind, found.element, found.enum, found.supported) == (
        Kind.set,
        Kind.enumeration,
        enum,
        True,
    )
    assert not parse_vtable_name(name.format(enum, 1), enumerated=True).supported  # behind cl::location
    assert parse_vtable_name(name.format("Ss", 0), enumerated=True).kind == Kind.other
    image = attach().image
    assert find_element_names(image, enum) is None
    names = find_element_names(image, attach().options["spirv-ext"].type.enum)
    assert names is not None
    assert {WRAP, SHARE} < set(names.names())
