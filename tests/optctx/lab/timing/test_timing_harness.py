"""Harnesses: in files, held against a module, made of a function to fill in, and their bytes."""

from __future__ import annotations

import hashlib
import pathlib
import pickle
import shutil
import subprocess
import time
from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optctx.compiling import Job
from optctx.errors import OptctxError
from optctx.lab.timing import Array, Harness, Measuring, Outcome, Value, check, find_harness, harness_of
from optctx.lab.timing.arrays import array_bytes, value_word
from optctx.lab.timing.harness import KINDS, Kind
from tests.support.rows import rows
from tests.support.timing_kernels import HASH, SUM, compiled, sum_harness

TEXT = """
entry = "stencil"
returns = "f64"
repeat = 3
libraries = ["libm.so.6"]

[[arguments]]
array = "f32"
shape = [8, 16]
seed = 7
low = -2.5
output = true

[[arguments]]
array = "i64"
shape = [3]
fill = "arange"

[[arguments]]
array = "f64"
shape = [2]
fill = inf

[[arguments]]
array = "i16"
shape = [1]
contents = "AAE="

[[arguments]]
value = -3
type = "i8"
"""


def test_a_file_says_what_python_says(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "stencil.toml"
    path.write_text(TEXT)
    harness = Harness.from_toml(path)
    arguments = (
        Array("f32", (8, 16), seed=7, low=-2.5, output=True),
        Array("i64", (3,), fill="arange"),
        Array("f64", (2,), fill=float("inf")),
        Array("i16", (1,), contents=b"\0\1"),
        Value(-3, "i8"),
    )
    assert harness == Harness("stencil", arguments, "f64", 3, ("libm.so.6",))
    assert Harness.loads(harness.dumps()) == harness
    assert pickle.loads(pickle.dumps(harness)) == harness
    assert harness.digest() == Harness.loads(TEXT).digest()
    assert Harness.loads('entry = "f"\nreturns = "none"') == Harness("f")
    assert harness.digest() != Harness.loads(TEXT.replace("AAE=", "AAA=")).digest()


ARGUMENT = 'entry = "f"\n[[arguments]]\n'
ARRAY = f"{ARGUMENT}array = 'i8'\nshape = [2]\n"


@rows(
    ("text", "words"),
    [
        ("", "Object missing required field `entry`"),
        ('entry = "f"\nrepeats = 1', "Object contains unknown field `repeats`; did you mean repeat?"),
        ('entry = "f"\nreturns = "f65"', "Invalid enum value 'f65' - at `$.returns`; did you mean f64?"),
        ('entry = "f"\narguments = [3]', "Expected `object`, got `int` - at `$.arguments[0]`"),
        (f"{ARGUMENT}shape = [3]", "or value = number - at `$.arguments[0]`"),
        (f'{ARGUMENT}value = 3\nkind = "array"', "or value = number - at `$.arguments[0]`"),
        (f"{ARGUMENT}value = 3\nseed = 1", "unknown field `seed` - at `$.arguments[0]`"),
        (f"{ARGUMENT}value = 1.5", "expected an integer for i64, found 1.5 - at"),
        (f"{ARRAY}fill = 200", "i8 holds -128 to 127, found 200 - at `$.arguments"),
        (f"{ARRAY}fill = 'rand'", "`$.arguments[0].fill`; did you mean random?"),
        (f"{ARRAY}low = 9\nhigh = 3", "from low to high"),
    ],
)
def test_a_mistake_in_a_file_is_one_clear_error(text: str, words: str) -> None:
    with pytest.raises(OptctxError) as raised:
        Harness.loads(text, "kernel.toml")
    message = str(raised.value)
    assert message.startswith("cannot use the harness 'kernel.toml': ")
    assert words in message
    assert "\n" not in message


def test_python_has_the_same_checks() -> None:
    for make, words in (
        (lambda: Array("f65", (3,)), "Invalid enum value 'f65' for type"),  # type: ignore[arg-type]
        (lambda: Array("f32", (3, 0)), r"Expected `int` >= 1 - at `shape\[1\]`, found \(3, 0\)"),
        (lambda: Array("i16", (3,), contents=bytes(5)), "this array has 6 bytes, found contents of 5"),
        (lambda: Array("f64", (3,), low=-1e308, high=1e308), r"ends 1.79769e\+308 apart at most"),
        (lambda: Harness("f\0"), "Expected `str` matching regex .* for entry"),
        (lambda: Value(10**400, "f64"), "f64 holds no such number"),
        (lambda: Value(3.41e38, "f32"), "f32 holds no such number"),
    ):
        with pytest.raises(OptctxError, match=words):
            make()
    assert Harness("f", [Array("i8", [2])]) == Harness("f", (Array("i8", (2,)),))  # type: ignore[arg-type]
    assert value_word(Value(3.4028235e38, "f32")) == b"\xff\xff\x7f\x7f\0\0\0\0"


@rows(
    ("head", "words"),
    [
        ("i32 @totals(ptr %a, i64 %n)", "no function of that name; did you mean totals?"),
        ("internal i32 @total(ptr %a, i64 %n)", "it is internal to its module"),
        ("i32 @total(ptr %a)", "it takes 1 argument, and the harness has 2"),
        ("i32 @total(ptr %a, ...)", "a variable number of arguments"),
        ("i32 @total(ptr %a, i32 %n)", "argument 2 (n) is i32 in the module, and i64 in the harness"),
        ("i32 @total(i64 %a, i64 %n)", "argument 1 (a) is i64 in the module, and an array"),
        ("i32 @total(ptr byval([8 x i8]) %a, i64 %n)", "argument 1 (a) is passed as byval([8 x i8])"),
        ("void @total(ptr %a, i64 %n)", 'returns void, and the harness says i32; write returns = "none"'),
        ("i64 @total(ptr %a, i64 %n)", 'harness says i32; write returns = "i64" or returns = "u64"'),
        ("nonsense", "cannot read the module"),
    ],
)
def test_a_function_of_another_form_is_one_clear_error(head: str, words: str) -> None:
    with pytest.raises(OptctxError) as raised:
        sum_harness().check(f"define {head} {{ unreachable }}")
    assert words in str(raised.value)


def test_the_same_harness_gives_the_same_bytes_on_every_machine() -> None:
    arrays = {
        "1a7648544950c2ce": Array("f32", (1000,), seed=3, low=-4, high=9),
        "6a015debf5f1db4d": Array("f64", (1000,), seed=3),
        "c31a38ce01e9a9ac": Array("i8", (1000,), seed=3),
        "b1a18785512de3a0": Array("u64", (1000,), seed=3, high=2**64 - 1),
        "5d324f6fea9d36c1": Array("i64", (1000,), seed=3, low=-(2**63), high=2**63 - 1),
        "4299dba7083c4093": Array("bool", (1000,), seed=3),
        "5295bac51f17d7fe": Array("i16", (5, 7), fill="arange", low=-3),
        "7728ae2f2c36e2aa": Array("u8", (300,), fill="arange"),
        "6586311a6f3e0263": Array("f32", (9,), fill=1.5),
    }
    found = [hashlib.sha256(array_bytes(each)).hexdigest()[:16] for each in arrays.values()]
    assert found == list(arrays)
    assert array_bytes(Array("f64", (3,), fill="arange", low=0.5)) == array("d", [0.5, 1.5, 2.5]).tobytes()


@given(st.sampled_from(sorted(KINDS)), st.integers(), st.data())
def test_random_numbers_stay_within_their_range(name: Kind, seed: int, data: st.DataObject) -> None:
    kind = KINDS[name]
    numbers = st.floats(-1e6, 1e6, width=32) if kind.is_float else st.integers(kind.low, kind.high)
    low, high = sorted((data.draw(numbers), data.draw(numbers)))
    found = array(kind.code, array_bytes(Array(name, (50,), seed=seed, low=low, high=high)))
    assert all(low <= number <= high for number in found)


# Made from a function

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


@pytest.mark.skipif(not shutil.which("clang"), reason="needs clang (Debian: clang)")
def test_a_function_of_c_is_described_by_how_it_uses_its_arguments() -> None:
    words = ["-c", "-emit-llvm", "-O2", "-Xclang", "-disable-llvm-passes", "-x", "c", "-o", "-", "-"]
    bitcode = subprocess.run(["clang", *words], check=True, capture_output=True, input=C.encode()).stdout
    found = {}
    for entry in SIGNATURES:
        harness = Harness.loads(harness_of(bitcode, entry))
        arrays = [f"{each.type}{'!' if each.output else ''}" for each in harness.arrays]
        numbers = [each.type for each in harness.arguments if not isinstance(each, Array)]
        found[entry] = arrays, numbers, harness.returns
    assert found == SIGNATURES


def test_a_function_of_any_size_is_described_soon() -> None:
    """A chain of pointers, each made from the one before, and a parameter whose name has a line end."""
    lines = ['store i32 7, ptr %"b # \\0A"', "%p0 = getelementptr i8, ptr %a, i64 1"]
    lines += [f"%p{n} = getelementptr i8, ptr %p{n - 1}, i64 1" for n in range(1, 20_000)]
    lines += ["%x = load i32, ptr %p19999", "store i32 %x, ptr %a", "ret void"]
    ir = 'define void @f(ptr %a, ptr %"b # \\0A") noinline {\n' + "\n".join(lines) + "\n}"
    began = time.process_time()
    text = harness_of(ir, "f")
    assert time.process_time() - began < 20
    assert [array.type for array in Harness.loads(text).arrays][1] == "i32"


@rows(("ir", "entry"), [(SUM, "total"), (HASH, "hash")])
def test_what_has_one_size_runs_as_it_is_made(ir: str, entry: str) -> None:
    code = compiled(ir)
    assert check(Harness.loads(harness_of(ir, entry)), code, {"same": code}) == {"same": Outcome("ok")}


@rows(
    ("type", "expected"),
    [("void", None), ("i1", "bool"), ("i32", "i32"), ("float", "f32"), ("double", "f64")],
)
def test_a_function_without_arguments_needs_no_harness(type: str, expected: str | None) -> None:
    value = {"void": "", "float": " 1.0", "double": " 1.0"}.get(type, " 1")
    found = find_harness(Measuring(), "-", Job(f"define {type} @f() {{ ret {type}{value} }}"))
    assert found == Harness("f", returns=expected)  # type: ignore[arg-type]


@rows(
    ("entry", "ir", "words"),
    [
        ("f", "define ptr @f() { ret ptr null }", "it returns ptr, which a harness cannot describe"),
        ("f", "define void @g() { ret void }", "defines no function of that name"),
        ("", SUM + HASH, "name a function with --entry (total, hash)"),
        ("f", f"@deep = global {'[1 x ' * 200_000}i8{']' * 200_000} undef", "was killed by SIGSEGV"),
    ],
)
def test_a_function_that_cannot_be_called_is_refused(entry: str, ir: str, words: str) -> None:
    with pytest.raises(OptctxError) as raised:
        find_harness(Measuring(entry=entry), "-", Job(ir))
    assert words in str(raised.value)


def test_a_module_that_llvm_crashes_on_is_refused_wherever_a_harness_meets_it() -> None:
    deep = f"@deep = global {'[1 x ' * 200_000}i8{']' * 200_000} undef"
    for meets in (Harness("f").check, lambda ir: harness_of(ir, "f")):
        with pytest.raises(OptctxError, match=r"cannot read the module: .* was killed by SIGSEGV"):
            meets(deep)
