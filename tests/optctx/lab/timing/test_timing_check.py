"""Candidates that are wrong, crash, hang or misbehave: each is a row, and the others are right."""

from __future__ import annotations

import os
import pathlib
import struct
from array import array

import pytest

from optctx.children.frames import encode
from optctx.compiling import Job
from optctx.errors import EndedEarlyError, OptctxError
from optctx.lab.timing import (
    Array,
    Bench,
    Budget,
    Case,
    Difference,
    Harness,
    Kind,
    Outcome,
    Tolerance,
    Value,
    check,
    read_case,
)
from optctx.lab.timing.arrays import Outputs, array_bytes, compare
from optctx.lab.timing.caller import compile_caller
from optctx.lab.timing.harness import KINDS
from optctx.lab.timing.helper import Examine
from optctx.lab.timing.worker import Kernel, Order
from tests.support.processes import children_of, wait_for
from tests.support.rows import rows
from tests.support.scopes import process_state
from tests.support.timing_kernels import SUM, compiled, loop, pid_of, sum_harness

NAN, INF = float("nan"), float("inf")
FLOATS = Harness("f", (Value(1), Array("f64", (2, 3), output=True)))
INTEGERS = Harness("f", (Array("i32", (4,), output=True),), "i32")


def floats(*numbers: float) -> Outputs:
    return Outputs(bytes(8), {1: array("d", numbers).tobytes()})


def integers(returned: int, *numbers: int) -> Outputs:
    return Outputs(returned.to_bytes(4, "little", signed=True) + b"junk", {0: array("i", numbers).tobytes()})


BASE = floats(1, 2, 3, NAN, INF, 0)


def test_the_first_difference_is_told_with_its_place() -> None:
    found = compare(FLOATS, BASE, floats(1, 2, 3, NAN, 7, 1e-30), Tolerance())
    assert found == Difference(1, (1, 1), INF, 7.0, 2)
    assert str(found) == "argument 2[1, 1] is 7.0, and the base leaves inf; 2 elements differ"
    found = compare(FLOATS, BASE, floats(1, 2, 7, NAN, INF, 0), Tolerance())
    assert found == Difference(1, (0, 2), 3.0, 7.0, 1)
    # Integers have no tolerance.
    integer = integers(5, 1, 2, 3, 4)
    found = compare(INTEGERS, integer, integers(-5, 1, 2, 3, 4), Tolerance(1, 1))
    assert found == Difference(None, (), 5, -5, 1)
    assert str(found) == "the returned value is -5, and the base returns 5"
    found = compare(INTEGERS, integer, integers(5, 1, 2, 3, 5), Tolerance(1, 1))
    assert found == Difference(0, (3,), 4, 5, 1)


@rows(
    ("found", "tolerance", "differs"),
    [
        (floats(1, 2, 3, -NAN, INF, 0), Tolerance(), False),
        (floats(1, 2, 3, NAN, INF, -0.0), Tolerance(), True),  # bytes
        (floats(1, 2, 3, NAN, INF, -0.0), Tolerance(relative=1e-9), False),
        (floats(1 + 1e-7, 2, 3, NAN, INF, 0), Tolerance(relative=1e-6), False),
        (floats(1 + 1e-5, 2, 3, NAN, INF, 0), Tolerance(relative=1e-6), True),
        (floats(1, 2, 3, NAN, INF, 1e-7), Tolerance(relative=1e-6), True),  # relative to 0
        (floats(1, 2, 3, NAN, INF, 1e-7), Tolerance(absolute=1e-6), False),
        (floats(1, 2, 3, 0, INF, 0), Tolerance(relative=1e9, absolute=1e9), True),
        (floats(1, 2, NAN, NAN, INF, 0), Tolerance(relative=1e9, absolute=1e9), True),
        (floats(1, 2, 3, NAN, 1e300, 0), Tolerance(relative=1e9, absolute=1e9), True),
        (floats(1, 2, INF, NAN, INF, 0), Tolerance(relative=1e9, absolute=1e9), True),
    ],
)
def test_a_tolerance_is_for_numbers(found: Outputs, tolerance: Tolerance, differs: bool) -> None:
    assert (compare(FLOATS, BASE, found, tolerance) is not None) == differs


LIBC = """
declare void @exit(i32)
declare i64 @write(i32, ptr, i64)
declare i32 @pause()
declare i32 @close(i32)
@text = constant [6 x i8] c"hello\\0A"
"""
CALL = "%v = add i32 %e, 0"
CRASHES = loop(CALL, before="store i32 1, ptr inttoptr (i64 8 to ptr)")
HANGS = loop(CALL, before="%r = call i32 @pause()", declared=LIBC)
BEYOND = loop(CALL, before="%far = getelementptr i32, ptr %a, i64 %n\n  store i32 1, ptr %far")
CLOSES = "%d = trunc i64 %i to i32\n  %r = call i32 @close(i32 %d)\n  "
WRITES = "%d = trunc i64 %i to i32\n  %t = call i64 @write(i32 %d, ptr @text, i64 6)\n  "
ABSENT = loop(CALL, before="call void @nowhere()", declared="declare void @nowhere()")
HOSTILE = {  # how each ends, and what is said of it
    "wrong": (loop("%v = add i32 %e, 1"), "wrong result", "the returned value is "),
    "crashes": (CRASHES, "crashed", "killed by SIGSEGV"),
    "exits": (loop(CALL, "call void @exit(i32 3)", LIBC), "crashed", "exited with status 3"),
    "hangs": (HANGS, "timed out", "it ran for longer than"),
    "closes everything": (loop(CLOSES + CALL, declared=LIBC), "crashed", "exited with status 1"),
    "writes everywhere": (loop(WRITES + CALL, declared=LIBC), "crashed", "a descriptor that is not its own"),
    "writes beyond": (BEYOND, "wrong result", "it writes beyond the array of argument 1"),
    "needs what is not there": (ABSENT, "failed", "it needs nowhere, which no library defines"),
    "has another name": (loop(CALL, name="totals"), "failed", "it does not define total"),
    "has less to say": (SUM, "ok", ""),
}


def test_what_candidates_do_reaches_neither_each_other_nor_this_process() -> None:
    before = process_state()
    objects = {name: compiled(ir, passes="default<O1>") for name, (ir, _, _) in HOSTILE.items()}
    objects["no object"] = b"nothing"
    with Bench(sum_harness(), compiled(SUM), lock=False) as bench:
        helper = pid_of(bench)
        found = bench.check(objects)
    assert not os.path.exists(f"/proc/{helper}")
    expected = {name: (state, words) for name, (_, state, words) in HOSTILE.items()}
    expected["no object"] = ("failed", "it cannot be loaded: it is no object in 64-bit ELF")
    for name, (state, words) in expected.items():
        assert (found[name].state, words in found[name].error) == (state, True), (name, found[name])
    assert process_state() == before


def test_what_dies_only_while_it_is_timed_is_a_row_as_well() -> None:
    """The first call is right; the third crashes, or never returns."""
    third = (
        "%old = load i32, ptr @calls\n  %new = add i32 %old, 1\n  store i32 %new, ptr @calls\n"
        "  %is = icmp eq i32 %new, 3\n  "
    )
    ends = {
        "crash": "%to = select i1 %is, ptr inttoptr (i64 8 to ptr), ptr @calls\n  store i32 %new, ptr %to",
        "hang": "%ms = select i1 %is, i32 -1, i32 0\n  %r = call i32 @poll(ptr null, i64 0, i32 %ms)",
    }
    declared = "@calls = internal global i32 0\ndeclare i32 @poll(ptr, i64, i32)"
    objects = {
        name: compiled(loop(CALL, third + end, declared), passes="verify") for name, end in ends.items()
    }
    objects["fine"] = compiled(SUM, "-unroll-count=2")
    with Bench(sum_harness(repeat=1), compiled(SUM)) as bench:
        found = bench.measure(objects, budget=Budget(seconds=0))
    assert found.candidates["crash"].outcome == Outcome("crashed", "in round 1 killed by SIGSEGV")
    assert found.candidates["hang"].outcome.state == "timed out"
    assert found.candidates["hang"].ratio is None
    assert found.candidates["fine"].outcome == Outcome("ok")
    assert found.candidates["fine"].rounds == 10


@rows(
    ("ir", "words"),
    [
        (HANGS, "the base cannot be measured: it ran for longer than 0.5 s"),
        (BEYOND, "the base writes beyond the array of argument 1"),
        # Reads beyond its array, and a variable on the stack that it never wrote.
        (
            loop("%q = getelementptr i32, ptr %p, i64 8\n  %v = load i32, ptr %q"),
            "the base gives different outputs",
        ),
        (
            loop(
                "%v = load volatile i32, ptr %never",
                before="%room = alloca [4096 x i32]\n  %never = getelementptr i32, ptr %room, i64 99",
            ),
            "it reads what was never written",
        ),
    ],
)
def test_a_base_that_says_nothing_about_candidates_is_refused(ir: str, words: str) -> None:
    with pytest.raises(OptctxError) as raised:
        check(sum_harness(), compiled(ir, passes="default<O1>"), {}, timeout=0.5 if ir == HANGS else 60.0)
    assert words in str(raised.value)


def test_arguments_of_every_type_arrive_as_they_are() -> None:
    numbers: dict[Kind, float] = {"i8": -3, "u8": 200, "i16": -300, "u16": 60000, "i32": -70000}
    numbers |= {"u32": 2**32 - 1, "i64": -(2**40), "f32": -5.0, "f64": 7.0, "bool": True}
    as_i64 = {"bool": "zext i1", "f32": "fptosi float", "f64": "fptosi double", "i64": "bitcast i64"}
    as_i64 |= {f"{sign}{bits}": f"{'sz'[sign == 'u']}ext i{bits}" for sign in "iu" for bits in (8, 16, 32)}
    stores = [
        f"%w.{name} = {as_i64[name]} %{name} to i64\n  %p.{name} = getelementptr i64, ptr %out, i64 {place}\n"
        f"  store i64 %w.{name}, ptr %p.{name}"
        for place, name in enumerate(numbers)
    ]
    # The function relies on what its caller extends.
    parameters = ", ".join(f"{KINDS[name].ir} {KINDS[name].extension} %{name}" for name in numbers)
    body = "\n  ".join([*stores, "ret i1 %bool"])
    ir = f"define i1 @f(ptr %out, {parameters}) {{\n  {body}\n}}"
    out = Array("i64", (len(numbers),), fill="zeros", output=True)
    values = (Value(number, name) for name, number in numbers.items())
    harness = Harness("f", (out, *values), "bool")
    harness.check(ir)
    # Safe to be called here.
    left = Kernel(harness, [array_bytes(out)], compile_caller(harness), compiled(ir)).answer(Order())
    assert isinstance(left, Outputs)
    assert array("q", left.arrays[0]).tolist() == list(numbers.values())
    assert left.returned[0] == 1


def test_a_file_that_is_no_case_is_one_clear_error(tmp_path: pathlib.Path) -> None:
    case = Case(sum_harness(), Job(SUM))
    path = pathlib.Path(case.write(tmp_path, base=b"", candidate=b"", outcome=Outcome("ok")))
    text = path.read_text()
    for old, new, words in (
        ("options =", "option =", "unknown field `option`; did you mean options?"),
        ("relative_tolerance = 0.0", "relative_tolerance = -1.0", "a tolerance is a number that is not"),
    ):
        path.write_text(text.replace(old, new))
        with pytest.raises(OptctxError, match=words):
            read_case(path)
    path.write_bytes(b'module = "\xe9"')
    with pytest.raises(OptctxError, match="expected TOML in UTF-8"):
        read_case(path)
    with pytest.raises(OptctxError, match="cannot write a case into"):
        case.write(path, base=b"", candidate=b"", outcome=Outcome("ok"))
    path.unlink()
    path.symlink_to("/dev/full")
    with pytest.raises(EndedEarlyError, match="no space left on device"):
        case.write(tmp_path, base=b"", candidate=b"", outcome=Outcome("ok"))


def test_what_a_kernel_says_in_place_of_its_worker_is_decoded_and_checked(tmp_path: pathlib.Path) -> None:
    """It writes frames to every descriptor: a pickle, another message, outputs of other sizes, a long one."""
    mark = tmp_path / "unpickled"
    bomb = f"cos\nmkdir\n(V{mark}\ntR.".encode()  # unpickling it calls os.mkdir
    frames = {
        "a pickle": struct.pack("<Q", len(bomb)) + bomb,
        "a text": encode("well"),
        "no array": encode(Outputs(bytes(8), {})),
        "a short array": encode(Outputs(bytes(8), {0: b"1234"})),
        "another array": encode(Outputs(bytes(8), {0: bytes(256), 7: b""})),
        "a short word": encode(Outputs(b"", {0: bytes(256)})),
        "a long frame": struct.pack("<Q", 1 << 40) + bytes(64),
    }
    harness = Harness("total", (Array("i32", (64,), output=True), Value(64)), "i32", repeat=1)
    with Bench(harness, compiled(SUM)) as bench:
        for name, frame in frames.items():
            text = "".join(f"\\{byte:02X}" for byte in frame)
            before = f'@frame = constant [{len(frame)} x i8] c"{text}"\n{LIBC}'
            write = (
                f"%d = trunc i64 %i to i32\n  %t = call i64 @write(i32 %d, ptr @frame, i64 {len(frame)})\n  "
            )
            candidate = compiled(loop(write + CALL, declared=before))
            outcome = bench.check({name: candidate})[name]
            assert outcome == Outcome("crashed", "it wrote to a descriptor that is not its own"), name
        assert bench.check({"same": compiled(SUM)}) == {"same": Outcome("ok")}
    assert not mark.exists()


def below(process: int) -> list[int]:
    """Its children and theirs."""
    return [each for child in children_of(process) for each in (child, *children_of(child))]


def test_what_a_kernel_has_started_ends_with_an_interrupted_measurement() -> None:
    forks = loop(CALL, "%f = call i32 @fork()\n  %r = call i32 @pause()", f"{LIBC}declare i32 @fork()")
    slow = loop(CALL, "%w = call i32 @usleep(i32 100000)", "declare i32 @usleep(i32)")  # so it may take 2 s
    with Bench(sum_harness(), compiled(slow), lock=False) as bench:
        assert bench._helper is not None
        bench._helper.line.tell(Examine("forks", compiled(forks, passes="default<O1>")))
        wait_for(lambda: len(below(pid_of(bench))) == 2)
        started = below(pid_of(bench))
    wait_for(lambda: not any(os.path.exists(f"/proc/{each}") for each in started))
