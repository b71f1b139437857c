"""Harnesses to fill in: they run once sizes are filled in, and say what they guess."""

from __future__ import annotations

import pathlib
import shutil
import subprocess
import time

import pytest

from optctx.compiling import Job
from optctx.errors import OptctxError
from optctx.lab.timing import (
    Array,
    Harness,
    Measuring,
    NoHarnessError,
    Outcome,
    check,
    find_harness,
    harness_of,
)
from tests.support.rows import rows
from tests.support.timing_kernels import HASH, SUM, compiled

C = """
#include <stdbool.h>
#include <stdint.h>
void axpy(float *restrict y, const float *restrict x, float a, unsigned short n) {
  for (int i = 0; i < n; i++) y[i] += a * x[i];
}
double dot(const double *a, const double *b, long n) {
  double s = 0;
  for (long i = 0; i < n; i++) s += *a++ * *b++;
  return s;
}
bool any(const bool *p, uint8_t n, signed char k) {
  for (int i = 0; i < n; i++) if (p[i]) return k > 0;
  return false;
}
struct P { float x, y; };
static void step(struct P *p) { p->y *= 2; }
void points(struct P *p, int n) { for (int i = 0; i < n / 2; i++) step(p + i); }
void table(int (*m)[8]) { for (int i = 0; i < 9; i++) for (int j = 0; j < 8; j++) m[i][j] = i * j; }
void nothing(void *p) {}
struct B { long a[9]; };
void by_value(struct B b, long *q) { q[0] = b.a[1]; }
void *address(void *p) { return p; }
"""
# Kinds and outputs of the arrays, kinds of the numbers, kind of the result.
SIGNATURES: dict[str, tuple[list[str], list[str], str | None]] = {
    "axpy": (["f32!", "f32"], ["f32", "u16"], None),
    "dot": (["f64", "f64"], ["i64"], "f64"),
    "any": (["i8"], ["u8", "i8"], "bool"),
    "points": (["f32!"], ["i32"], None),
    "table": (["i32!"], [], None),
    "nothing": (["f64"], [], None),
}


def described(harness: Harness) -> tuple[list[str], list[str], str | None]:
    arrays = [f"{each.type}{'!' if each.output else ''}" for each in harness.arrays]
    return arrays, [each.type for each in harness.arguments if not isinstance(each, Array)], harness.returns


@pytest.fixture(scope="module")
def bitcode(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    if shutil.which("clang") is None:
        pytest.skip("needs clang")
    source = tmp_path_factory.mktemp("c") / "functions.c"
    source.write_text(C)
    command = ["clang", "-c", "-emit-llvm", "-O2", "-Xclang", "-disable-llvm-passes", "-o", "-", str(source)]
    return subprocess.run(command, check=True, capture_output=True).stdout


@rows("entry", SIGNATURES)
def test_a_function_of_c_is_described_by_how_it_uses_its_arguments(entry: str, bitcode: bytes) -> None:
    assert described(Harness.loads(harness_of(bitcode, entry))) == SIGNATURES[entry]


@rows(
    ("entry", "words"),
    [
        ("by_value", "argument 1 is passed as byval"),
        ("address", "it returns ptr, which a harness cannot describe"),
        ("step", "it is internal to its module"),
        ("doot", "did you mean dot?"),
    ],
)
def test_what_a_harness_cannot_describe_is_one_error(entry: str, words: str, bitcode: bytes) -> None:
    with pytest.raises(OptctxError, match=words):
        harness_of(bitcode, entry)


def test_a_function_of_any_size_is_described_soon() -> None:
    """A chain of pointers, each made from the one before, and a parameter whose name has a line end."""
    lines = ['store i32 7, ptr %"b # \\0A"', "%p0 = getelementptr i8, ptr %a, i64 1"]
    lines += [f"%p{n} = getelementptr i8, ptr %p{n - 1}, i64 1" for n in range(1, 20_000)]
    lines += ["%x = load i32, ptr %p19999", "store i32 %x, ptr %a", "ret void"]
    ir = 'define void @f(ptr %a, ptr %"b # \\0A") noinline {\n' + "\n".join(lines) + "\n}"
    began = time.monotonic()
    text = harness_of(ir, "f")
    assert time.monotonic() - began < 20
    assert [array.type for array in Harness.loads(text).arrays][1] == "i32"


@rows(("ir", "entry"), [(SUM, "total"), (HASH, "hash")])
def test_what_has_one_size_runs_as_it_is_made(ir: str, entry: str) -> None:
    code = compiled(ir)
    assert check(Harness.loads(harness_of(ir, entry)), code, {"same": code}) == {"same": Outcome("ok")}


def test_the_harness_of_a_file_is_looked_for_beside_it(tmp_path: pathlib.Path) -> None:
    file = str(tmp_path / "sum.ll")
    with pytest.raises(
        NoHarnessError, match=r"no harness says what to pass; .* save it as .*sum\.toml"
    ) as raised:
        find_harness(Measuring(), file, Job(SUM))
    (tmp_path / "sum.toml").write_text(raised.value.text)
    assert find_harness(Measuring(), file, Job(SUM)).entry == "total"
    with pytest.raises(OptctxError, match="no function of that name"):
        find_harness(Measuring(entry="other"), file, Job(SUM))
    both = SUM + HASH
    with pytest.raises(OptctxError, match=r"name a function with --entry \(total, hash\)"):
        find_harness(Measuring(), "-", Job(both))


@rows(
    ("type", "expected"),
    [("void", None), ("i1", "bool"), ("i32", "i32"), ("float", "f32"), ("double", "f64")],
)
def test_a_function_without_arguments_needs_no_harness(type: str, expected: str | None) -> None:
    value = {"void": "", "float": " 1.0", "double": " 1.0"}.get(type, " 1")
    found = find_harness(Measuring(), "-", Job(f"define {type} @f() {{ ret {type}{value} }}"))
    assert found == Harness("f", returns=expected)  # type: ignore[arg-type]


@rows(
    ("ir", "words"),
    [
        ("define ptr @f() { ret ptr null }", "it returns ptr, which a harness cannot describe"),
        ("define i24 @f() { ret i24 0 }", "it returns i24, which a harness cannot describe"),
        ("define void @f(...) { ret void }", "a variable number of arguments"),
        ("define void @g() { ret void }", "defines no function of that name"),
        ("define internal void @f() { ret void }", "it is internal to its module"),
    ],
)
def test_a_function_that_cannot_be_called_is_refused(ir: str, words: str) -> None:
    with pytest.raises(OptctxError) as raised:
        find_harness(Measuring(entry="f"), "-", Job(ir))
    assert words in str(raised.value)
