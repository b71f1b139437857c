"""Objects as LLVM emits them, loaded and called in this process; damaged ones are refused."""

from __future__ import annotations

import ctypes
import itertools
import pathlib
import random
import struct

import pytest
from llvmlite import binding

from optctx import _native
from optctx.compiling import Job, compile_job
from optctx.lab.objects import ObjectError, load, parse_object
from optctx.lab.objects.x86_64.relocations import MACHINE
from tests.support.rows import rows
from tests.support.timing_kernels import HASH, SUM, compiled

PARTS = """
declare double @sin(double)
declare i32 @abs(i32)
@shared = common global i32 0
@pointers = global [2 x ptr] [ptr @shared, ptr @sin]
@zeros = internal global [100 x i32] zeroinitializer
@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [
  { i32, ptr, ptr } { i32 65535, ptr @first, ptr null }
]
define internal void @first() {
  store i32 7, ptr @shared
  store i32 3, ptr getelementptr ([100 x i32], ptr @zeros, i64 0, i64 99)
  ret void
}
define double @near(double %x) {
  %sine = call double @sin(double %x)
  %seven = load i32, ptr @shared
  %three = load i32, ptr getelementptr ([100 x i32], ptr @zeros, i64 0, i64 99)
  %negative = sub i32 %three, %seven
  %four = call i32 @abs(i32 %negative)
  %float = sitofp i32 %four to double
  %sum = fadd double %sine, %float
  ret double %sum
}
define ptr @where() { ret ptr @sin }
"""


def emitted(ir: str, reloc: str) -> bytes:
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    target = binding.Target.from_triple(binding.get_process_triple())
    with (
        binding.create_context() as context,
        binding.parse_assembly(ir, context) as module,
        target.create_target_machine(reloc=reloc, codemodel="default") as machine,
    ):
        return bytes(machine.emit_object(module))


@rows(("reloc", "offset"), itertools.product(("default", "static", "pic"), (0, 16, 4080)))
def test_code_variables_constructors_and_libraries_work(reloc: str, offset: int) -> None:
    loaded = load(emitted(PARTS, reloc), offset=offset)
    near = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(loaded.address("near"))
    assert near(0.5) == pytest.approx(4.479425538604203)
    where = ctypes.CFUNCTYPE(ctypes.c_void_p)(loaded.address("where"))()
    sine = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(where)
    assert sine(0.5) == pytest.approx(0.479425538604203)
    assert set(loaded.symbols) == {"near", "where", "shared", "pointers"}


def test_code_is_where_addresses_of_32_bits_reach_and_aligned_as_it_asks() -> None:
    addresses = {
        load(compiled(HASH, *options), offset=offset).address("hash")
        for options in ((), ("-align-all-functions=6",))
        for offset in (0, 16, 48, 1008)
    }
    assert all(address < 1 << 31 for address in addresses)
    asked = [
        load(compiled(HASH, "-align-all-functions=6"), offset=16 * step).address("hash") for step in range(8)
    ]
    assert {address % 64 for address in asked} == {0}


def test_a_table_is_read_as_the_source_says() -> None:
    data = random.Random(0).randbytes(512)
    table = [11, -22, 33, -44, 55, -66, 77, -88]
    expected = 14695981039346656037
    for byte in data:
        mixed = expected ^ byte
        expected = (mixed + table[mixed & 7]) * 1099511628211 % (1 << 64)
    form = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_char_p, ctypes.c_int64)
    assert form(load(compiled(HASH)).address("hash"))(data, len(data)) == expected


def test_a_weak_symbol_that_no_library_defines_is_null() -> None:
    ir = "declare extern_weak void @no_such()\ndefine i1 @f() { %r = icmp eq ptr @no_such, null\n ret i1 %r }"
    assert ctypes.CFUNCTYPE(ctypes.c_bool)(load(emitted(ir, "pic")).address("f"))()


def test_what_cannot_be_loaded_is_refused_by_name() -> None:
    far = (
        "@getdate_err = external dso_local global i32\n"
        "define i32 @f() { %i = load i32, ptr @getdate_err\n ret i32 %i }"
    )
    missing = "declare void @no_such()\ndefine void @f() { call void @no_such() ret void }"
    local = "@x = thread_local global i32 1\ndefine ptr @f() { ret ptr @x }"
    wrong = [
        (emitted(local, "default"), "thread-local"),
        (emitted(missing, "default"), "needs no_such, which no"),
        (emitted(far, "default"), "the variable getdate_err of a library; compile it with -fPIC"),
        (compile_job(Job(SUM, "default<O1>", triple="aarch64-unknown-linux-gnu")).code, "another processor"),
        (b"", "no object"),
        (pathlib.Path(_native.__file__).read_bytes(), "linked already"),
    ]
    for data, words in wrong:
        with pytest.raises(ObjectError, match=words):
            load(data)


def test_damaged_objects_are_parsed_or_refused() -> None:
    good = emitted(PARTS, "default")
    draw = random.Random(1)
    refused = 0
    for _ in range(600):
        data = bytearray(good)
        for _ in range(draw.randrange(1, 6)):
            place = draw.randrange(len(data))
            data[place : place + 8] = struct.pack(
                "<Q", draw.choice([0, 1, 2**31, 2**63, draw.getrandbits(64)])
            )
        if draw.random() < 0.3:
            del data[draw.randrange(len(data)) :]
        try:
            parse_object(bytes(data), MACHINE)
        except ObjectError:
            refused += 1
    assert refused > 100
