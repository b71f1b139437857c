"""Harnesses: their files, their check against a module, and the bytes that they stand for."""

from __future__ import annotations

import hashlib
import pathlib
import pickle
import struct
from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optctx.errors import OptctxError
from optctx.lab.timing import Array, Harness, Value
from optctx.lab.timing.arrays import array_bytes, value_word
from optctx.lab.timing.harness import KINDS, Kind
from tests.support.rows import rows
from tests.support.timing_kernels import HASH, SUM, hash_harness, sum_harness

ARRAY = 'entry = "f"\n[[arguments]]\n'
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
value = -3
type = "i8"
"""


def test_a_file_says_what_python_says(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "stencil.toml"
    path.write_text(TEXT)
    harness = Harness.from_toml(path)
    assert harness == Harness(
        "stencil",
        (
            Array("f32", (8, 16), seed=7, low=-2.5, output=True),
            Array("i64", (3,), fill="arange"),
            Array("f64", (2,), fill=float("inf")),
            Value(-3, "i8"),
        ),
        "f64",
        3,
        ("libm.so.6",),
    )
    assert Harness.loads(harness.dumps()) == harness
    assert pickle.loads(pickle.dumps(harness)) == harness
    assert harness.digest() == Harness.loads(TEXT).digest() != sum_harness().digest()


@rows(
    ("text", "words"),
    [
        ("", "Object missing required field `entry`"),
        ("entry = 1", "Expected `str`, got `int` - at `$.entry`"),
        ("entry =", "expected TOML"),
        ('entry = "f"\nrepeats = 1', "Object contains unknown field `repeats`; did you mean repeat?"),
        ('entry = "f"\nrepeat = 0', "Expected `int` >= 1 - at `$.repeat`"),
        ('entry = "f"\nreturns = "f65"', "Invalid enum value 'f65' - at `$.returns`; did you mean f64?"),
        ('entry = "f"\narguments = [3]', "Expected `object`, got `int` - at `$.arguments[0]`"),
        ('entry = "f"\n[[arguments]]\nshape = [3]', "or value = number - at `$.arguments[0]`"),
        ('entry = "f"\n[[arguments]]\nvalue = 3\nkind = "array"', "or value = number - at `$.arguments[0]`"),
        ('entry = "f"\n[[arguments]]\nvalue = 3\nseed = 1', "unknown field `seed` - at `$.arguments[0]`"),
        (f"{ARRAY}array = 'f32'", "Object missing required field `shape` - at `$.arguments[0]`"),
        (f"{ARRAY}array = 'f32'\nshape = [0]", "Expected `int` >= 1 - at `$.arguments[0].shape[0]`"),
        (f"{ARRAY}array = 'f32'\nshape = [90000, 90000]", "at most 1,073,741,824 bytes"),
        (
            f"{ARRAY}array = 'i8'\nshape = [2]\nfill = 200",
            "i8 holds -128 to 127, found 200 - at `$.arguments",
        ),
        (f"{ARRAY}array = 'i8'\nshape = [2]\nfill = 'rand'", "`$.arguments[0].fill`; did you mean random?"),
        (f"{ARRAY}array = 'i8'\nshape = [2]\nlow = 9\nhigh = 3", "from low to high"),
        (f"{ARRAY}array = 'i8'\nshape = [2]\ncontents = '*'", "Invalid base64 encoded string - at"),
        ('entry = "f"\n[[arguments]]\nvalue = 1.5', "expected an integer for i64, found 1.5 - at"),
        ('entry = "f"\n[[arguments]]\nvalue = 300\ntype = "u8"', "u8 holds 0 to 255, found 300 - at"),
    ],
)
def test_a_mistake_in_a_file_is_one_clear_error(text: str, words: str) -> None:
    with pytest.raises(OptctxError) as raised:
        Harness.loads(text, "kernel.toml")
    message = str(raised.value)
    assert message.startswith(("cannot use the harness 'kernel.toml': ", "cannot read 'kernel.toml': "))
    assert words in message
    assert "\n" not in message


def test_python_has_the_same_checks() -> None:
    for make, words in (
        (lambda: Array("f65", (3,)), "Invalid enum value 'f65' for type"),  # type: ignore[arg-type]
        (lambda: Array("f32", (3, 0)), r"Expected `int` >= 1 - at `shape\[1\]`, found \(3, 0\)"),
        (lambda: Harness(""), "Expected `str` of length >= 1 for entry, found ''"),
        (lambda: Harness("f\0"), "Expected `str` matching regex .* for entry"),
        (lambda: Harness("f", (3,)), "Expected `object`, got `int` - at `arguments"),  # type: ignore[arg-type]
        (lambda: Value(10**400, "f64"), "f64 holds no such number"),
        (lambda: Value(3.41e38, "f32"), "f32 holds no such number"),
        (lambda: Array("f32", (3,), high=1e39), "f32 holds no such number"),
        (lambda: Array("f64", (3,), low=-1e308, high=1e308), r"ends 1.79769e\+308 apart at most"),
    ):
        with pytest.raises(OptctxError, match=words):
            make()
    assert Harness("f", [Array("i8", [2])]) == Harness("f", (Array("i8", (2,)),))  # type: ignore[arg-type]


def test_a_file_that_is_none_is_one_clear_error(tmp_path: pathlib.Path) -> None:
    with pytest.raises(OptctxError, match=r"cannot read '.*none\.toml': No such file"):
        Harness.from_toml(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b'entry = "\xe9"')
    with pytest.raises(OptctxError, match="expected TOML in UTF-8"):
        Harness.from_toml(tmp_path / "latin.toml")


def test_a_harness_that_fits_its_function_is_taken() -> None:
    sum_harness().check(SUM)
    hash_harness().check(HASH)
    flags = "define zeroext i1 @f(i8 signext %a, i1 zeroext %b, float %c, double %d) { ret i1 %b }"
    arguments = (Value(-1, "i8"), Value(True, "bool"), Value(0.5, "f32"), Value(2, "f64"))
    Harness("f", arguments, "bool").check(flags)


@rows(
    ("ir", "words"),
    [
        (
            "define i32 @totals(ptr %a, i64 %n) { ret i32 0 }",
            "no function of that name; did you mean totals?",
        ),
        ("declare i32 @total(ptr, i64)", "the module defines no function of that name"),
        ("define internal i32 @total(ptr %a, i64 %n) { ret i32 0 }", "it is internal to its module"),
        ("define i32 @total(ptr %a) { ret i32 0 }", "it takes 1 argument, and the harness has 2"),
        ("define i32 @total(ptr %a, ...) { ret i32 0 }", "a variable number of arguments"),
        (
            "define i32 @total(ptr %a, i32 %n) { ret i32 0 }",
            "argument 2 (n) is i32 in the module, and i64 in the harness",
        ),
        (
            "define i32 @total(i64 %a, i64 %n) { ret i32 0 }",
            "argument 1 (a) is i64 in the module, and an array",
        ),
        (
            "define i32 @total(ptr byval([8 x i8]) %a, i64 %n) { ret i32 0 }",
            "argument 1 (a) is passed as byval([8 x i8])",
        ),
        (
            "define void @total(ptr %a, i64 %n) { ret void }",
            'it returns void, and the harness says i32; write returns = "none"',
        ),
        (
            "define i64 @total(ptr %a, i64 %n) { ret i64 0 }",
            'it returns i64, and the harness says i32; write returns = "i64" or returns = "u64"',
        ),
        ("define ptr @total(ptr %a, i64 %n) { ret ptr %a }", "returns ptr, which a harness cannot describe"),
        ("define nonsense", "cannot read the module"),
    ],
)
def test_a_function_of_another_form_is_one_clear_error(ir: str, words: str) -> None:
    with pytest.raises(OptctxError) as raised:
        sum_harness().check(ir)
    assert words in str(raised.value)


def test_the_same_harness_gives_the_same_bytes_on_every_machine() -> None:
    arrays = [
        Array("f32", (1000,), seed=3, low=-4, high=9),
        Array("f64", (1000,), seed=3),
        Array("i8", (1000,), seed=3),
        Array("u64", (1000,), seed=3, high=2**64 - 1),
        Array("i64", (1000,), seed=3, low=-(2**63), high=2**63 - 1),
        Array("bool", (1000,), seed=3),
        Array("i16", (5, 7), fill="arange", low=-3),
        Array("u8", (300,), fill="arange"),
        Array("f32", (9,), fill=1.5),
    ]
    digests = [hashlib.sha256(array_bytes(each)).hexdigest()[:16] for each in arrays]
    assert digests == [
        "1a7648544950c2ce",
        "6a015debf5f1db4d",
        "c31a38ce01e9a9ac",
        "b1a18785512de3a0",
        "5d324f6fea9d36c1",
        "4299dba7083c4093",
        "5295bac51f17d7fe",
        "7728ae2f2c36e2aa",
        "6586311a6f3e0263",
    ]


@given(st.sampled_from(sorted(KINDS)), st.integers(), st.data())
def test_random_numbers_stay_within_their_range(name: Kind, seed: int, data: st.DataObject) -> None:
    kind = KINDS[name]
    numbers = st.floats(-1e6, 1e6, width=32) if kind.is_float else st.integers(kind.low, kind.high)
    low, high = sorted((data.draw(numbers), data.draw(numbers)))
    found = array(kind.code, array_bytes(Array(name, (50,), seed=seed, low=low, high=high)))
    assert all(low <= number <= high for number in found)


def test_a_value_is_a_word_from_which_its_type_is_loaded() -> None:
    assert value_word(Value(-2, "i32")) == struct.pack("<i", -2).ljust(8, b"\0")
    assert value_word(Value(0.5, "f32")) == struct.pack("<f", 0.5).ljust(8, b"\0")
    assert value_word(Value(2**64 - 1, "u64")) == b"\xff" * 8
    assert value_word(Value(3.4028235e38, "f32")) == b"\xff\xff\x7f\x7f\0\0\0\0"
