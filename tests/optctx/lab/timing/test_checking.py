"""Candidates that are wrong, crash, hang or misbehave: each is a row, and the others are right."""

from __future__ import annotations

import pathlib
import re
from array import array

import pytest

from optctx.compiling import Job
from optctx.errors import OptctxError
from optctx.lab.timing import Bench, Harness, Kernel, Timing, find_kernel
from optctx.lab.timing.loaded import Loaded, prepare
from tests.support.rows import rows
from tests.support.scopes import process_state
from tests.support.timing_kernels import AT_ONCE, SUM, compiled, kernel_of, loop, sum_kernel

LIBC = """
declare void @exit(i32)
declare i64 @write(i32, ptr, i64)
declare i32 @pause()
@text = constant [6 x i8] c"hello\\0A"
"""
CALL = "%v = add i32 %e, 0"
CRASHES = loop(CALL, before="store i32 1, ptr inttoptr (i64 8 to ptr)")
HANGS = loop(CALL, before="%r = call i32 @pause()", declared=LIBC)
WRITES = "%d = trunc i64 %i to i32\n  %t = call i64 @write(i32 %d, ptr @text, i64 6)\n  "
ABSENT = loop(CALL, before="call void @nowhere()", declared="declare void @nowhere()")
HOSTILE = {  # how each ends, and what is said of it
    "wrong": (loop("%v = add i32 %e, 1"), "wrong result", "the returned value is "),
    "spoils": (loop(f"{CALL}\n  store i32 7, ptr %p"), "wrong result", "element 0 of argument 1 is 7, and"),
    "crashes": (CRASHES, "crashed", "killed by SIGSEGV"),
    "exits": (loop(CALL, "call void @exit(i32 3)", LIBC), "crashed", "exited with status 3"),
    "writes everywhere": (loop(WRITES + CALL, declared=LIBC), "killed", "a descriptor that is not its own"),
    "needs what is not there": (ABSENT, "failed", "Symbols not found: [ nowhere ]"),
    "has another name": (loop(CALL, name="totals"), "failed", "it cannot be loaded: "),
    "has less to say": (SUM, "ok", ""),
}


def test_what_candidates_do_reaches_neither_each_other_nor_this_process(tmp_path: pathlib.Path) -> None:
    before = process_state()
    objects = {name: compiled(ir, passes="default<O1>") for name, (ir, _, _) in HOSTILE.items()}
    objects["no object"] = b"nothing"
    objects["hangs"] = compiled(HANGS)
    bench = Bench(compiled(SUM), sum_kernel(tmp_path), timeout=2 - 30)  # of a child, with what it loads
    found = bench.check(objects)
    expected = {name: (state, words) for name, (_, state, words) in HOSTILE.items()}
    expected["no object"] = ("failed", "it cannot be loaded")
    expected["hangs"] = ("timed out", "took longer than ")
    for name, (state, words) in expected.items():
        assert (found[name].state, words in found[name].error) == (state, True), (name, found[name])
    assert process_state() == before


@pytest.mark.usefixtures("few_rounds")
def test_what_dies_only_while_it_is_timed_is_a_row_as_well(tmp_path: pathlib.Path) -> None:
    """The first call is right; the third crashes."""
    third = (
        "%old = load i32, ptr @calls\n  %new = add i32 %old, 1\n  store i32 %new, ptr @calls\n"
        "  %is = icmp eq i32 %new, 3\n  "
        "%to = select i1 %is, ptr inttoptr (i64 8 to ptr), ptr @calls\n  store i32 %new, ptr %to"
    )
    crash = compiled(loop(CALL, third, "@calls = internal global i32 0"), passes="verify")
    objects = {"crash": crash, "fine": compiled(SUM, "-unroll-count=2")}
    found = Bench(compiled(SUM), sum_kernel(tmp_path, more=AT_ONCE)).measure(objects)
    assert found.candidates["crash"] == Timing("crashed", "killed by SIGSEGV")
    assert found.candidates["fine"].state == "ok"
    assert found.candidates["fine"].ratio is not None


COUNTS = loop(
    "%v = add i32 %e, %new",
    "%old = load i32, ptr @n\n  %new = add i32 %old, 1\n  store i32 %new, ptr @n",
    "@n = internal global i32 0",
)


@rows(
    ("ir", "words"),
    [
        (CRASHES, "the base cannot be measured: killed by SIGSEGV"),
        (COUNTS, "it gives different outputs for the same inputs: the returned value is "),
        (ABSENT, "the base cannot be measured: it cannot be loaded: "),
    ],
)
def test_a_base_that_says_nothing_about_candidates_is_refused(
    ir: str, words: str, tmp_path: pathlib.Path
) -> None:
    with pytest.raises(OptctxError, match=re.escape(words)):
        Bench(compiled(ir, passes="default<O1>"), sum_kernel(tmp_path)).check({})


NAN, INF = float("nan"), float("inf")
BASE = (1.0, 2.0, 3.0, NAN, INF, 0.0)


@rows(
    ("found", "tolerance", "differs"),
    [
        ((1, 2, 3, -NAN, INF, 0), (0, 0), ""),
        ((1, 2, 3, NAN, INF, -0.0), (0, 0), "element 5 of argument 1 is -0.0, and the base's 0.0"),
        ((1, 2, 3, NAN, INF, -0.0), (1e-9, 0), ""),
        ((1 + 1e-7, 2, 3, NAN, INF, 0), (1e-6, 0), ""),
        ((1 + 1e-5, 2, 3, NAN, INF, 0), (1e-6, 0), "element 0"),
        ((1, 2, 3, NAN, INF, 1e-7), (1e-6, 0), "element 5"),  # relative to 0
        ((1, 2, 3, NAN, INF, 1e-7), (0, 1e-6), ""),
        ((1, 2, 3, 0, INF, 0), (1e9, 1e9), "element 3"),
        ((1, 2, INF, NAN, INF, 0), (1e9, 1e9), "element 2"),
    ],
)
def test_a_tolerance_is_for_numbers(
    found: tuple[float, ...], tolerance: tuple[float, float], differs: str, tmp_path: pathlib.Path
) -> None:
    ir = "define void @f(ptr %a) { ret void }"
    text = (
        f"from array import array\ndef arguments(): return [array('d', [0.0] * 6)]\ntolerance = {tolerance}"
    )
    prepare()
    loaded = Loaded(kernel_of(tmp_path, ir, text), {})
    one, two = ({-1: b"", 0: array("d", each).tobytes()} for each in (BASE, found))
    told = loaded.difference(one, two)
    assert told.startswith(differs)
    assert bool(told) == bool(differs)


ARGUMENTS: dict[str, float] = {
    "i8": -3,
    "i16 signext": -300,
    "i32": -70000,
    "i32 zeroext": 2**32 - 1,
    "i64": -(2**40),
    "float": -5.0,
    "double": 7.0,
    "i1 zeroext": True,
}


def test_arguments_of_every_type_arrive_as_they_are(tmp_path: pathlib.Path) -> None:
    """The function relies on what its caller extends."""
    stores = []
    for place, kind in enumerate(ARGUMENTS):
        name = kind.split()[0]
        sign = "zext" if "zeroext" in kind else "sext"
        wide = "fptosi" if name in ("float", "double") else "bitcast" if name == "i64" else sign
        stores.append(f"%w{place} = {wide} {name} %a{place} to i64")
        stores.append(f"%p{place} = getelementptr i64, ptr %out, i64 {place}")
        stores.append(f"store i64 %w{place}, ptr %p{place}")
    parameters = ", ".join(f"{kind} %a{place}" for place, kind in enumerate(ARGUMENTS))
    ir = f"define i1 @f(ptr %out, {parameters}) {{\n  {chr(10).join(stores)}\n  ret i1 true\n}}"
    given = f"[array('q', [0] * {len(ARGUMENTS)}), *{[*ARGUMENTS.values()]}]"
    text = f"from array import array\ndef arguments(): return {given}"
    left = Loaded(kernel_of(tmp_path, ir, text), {"f": compiled(ir)}).outputs("f")
    assert array("q", left[0]).tolist() == [int(each) for each in ARGUMENTS.values()]
    assert left[-1][0] == 1


@rows(
    ("text", "words"),
    [
        # What its arguments are
        (
            "def arguments(): return [None]",
            "i32 total(ptr, i64) takes 2 arguments, and `arguments()` gives 1",
        ),
        ("def arguments(): return b'12', 1", "buffer, found b'12' (underlying buffer is not writable)"),
        ("def arguments(): return 7, 1", "argument 1 of i32 total(ptr, i64): expected None or a writable,"),
        ("def arguments(): return None, 2**64", "expected i64, found 18446744073709551616 ("),
        ("def arguments():\n  return None, 1 // 0", "it raises ZeroDivisionError in line 2: "),
        # What it is
        ("def arguments(:", "it raises SyntaxError in line 1: "),
        ("arguments = list; tolerance = -1", "Expected `float` >= 0.0 - at `$.relative`"),
        ("arguments = list; entry = 7", "Expected `str`, got `int` - at `$.entry`"),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)", "killed by SIGSEGV"),
    ],
)
def test_a_harness_that_is_wrong_is_one_clear_error(text: str, words: str, tmp_path: pathlib.Path) -> None:
    with pytest.raises(OptctxError, match=re.escape(words)) as raised:
        Bench(compiled(SUM), kernel_of(tmp_path, SUM, text)).check({})
    assert "cannot use the harness " in str(raised.value)


@rows(
    ("ir", "words"),
    [
        ("define internal void @f() { ret void }", "internal"),
        ("define void @f(...) { ret void }", "..."),
        ("define dso_local preserve_mostcc noundef i32 @f() { ret i32 0 }", "preserve_mostcc"),
        ("define void @f(ptr byval(i32) %a) { ret void }", "byval(i32)"),
        ("define void @f(<4 x i32> %a) { ret void }", "<4 x i32>"),
        ("define {i32, i32} @f() { ret {i32, i32} zeroinitializer }", "{ i32, i32 }"),
    ],
)
def test_what_cannot_be_called_is_refused_with_the_reason(ir: str, words: str) -> None:
    with pytest.raises(OptctxError, match=re.escape(f", found {words} in its definition")):
        find_kernel(Job(ir), Harness(entry="f"), "a.ll")


def test_what_is_called_is_found_or_asked_for() -> None:
    named, given = Harness(entry="g"), Harness(gives=True)
    ir = "define void @f() { ret void }\ndefine noundef signext i8 @g() { ret i8 1 }\n"
    ir += "define internal void @k() { ret void }\n"
    assert find_kernel(Job(ir), named, "a.ll") == Kernel("g", (), "i8", named)
    # Names and attributes may hold brackets and quotes.
    odd = r"""define range(i32 0, 9) i32 @"f, (g)"(i16 range(i16 0, 7) signext %"a, b)")"""
    expected = Kernel("f, (g)", ("i16 signext",), "i32", given)
    assert find_kernel(Job(f'{odd} "k"="@g(" {{ ret i32 1 }}'), given, "") == expected
    takes = "define double @f(ptr %array, i64 %n, float %0) { ret double 1.0 }"
    for module, harness, words in (
        (ir, Harness(), r"what to call \(f, g\): name one in a harness"),
        (ir, Harness(entry="h"), "the module defines no function of that name"),
        (takes, Harness(), r"call 'double f\(ptr, i64, float\)': no harness says .* into here/a_harness.py"),
    ):
        with pytest.raises(OptctxError, match=words):
            find_kernel(Job(module), harness, "here/a.ll")
