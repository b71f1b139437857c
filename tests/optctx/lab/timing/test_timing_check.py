"""Candidates that are wrong, crash, hang or misbehave: each is a row, and the others are right."""

from __future__ import annotations

import contextlib
import os
import pathlib
import pickle
import struct
from array import array
from typing import Any

import pytest

from optctx.children.frames import encode
from optctx.compiling import Job
from optctx.errors import OptctxError
from optctx.lab.timing import (
    Array,
    Bench,
    Budget,
    Case,
    Harness,
    Kind,
    Outcome,
    Value,
    check,
    read_case,
)
from optctx.lab.timing.arrays import Outputs, array_bytes
from optctx.lab.timing.caller import compile_caller
from optctx.lab.timing.harness import KINDS
from optctx.lab.timing.helper import Examine
from optctx.lab.timing.worker import Kernel, Order
from tests.support.processes import wait_for
from tests.support.rows import rows
from tests.support.scopes import process_state
from tests.support.timing_kernels import (
    SUM,
    compiled,
    loop,
    pid_of,
    sum_harness,
)

LIBC = """
declare void @exit(i32)
declare i64 @write(i32, ptr, i64)
declare i32 @pause()
declare i32 @close(i32)
@text = constant [6 x i8] c"hello\\0A"
"""
CALL = "%v = add i32 %e, 0"


HOSTILE = {
    "wrong": (loop("%v = add i32 %e, 1"), "wrong result", "the returned value is "),
    "crashes": (
        loop(CALL, before="store i32 1, ptr inttoptr (i64 8 to ptr)"),
        "crashed",
        "killed by SIGSEGV",
    ),
    "exits": (loop(CALL, "call void @exit(i32 3)", LIBC), "crashed", "exited with status 3"),
    "hangs": (
        loop(CALL, before="%r = call i32 @pause()", declared=LIBC),
        "timed out",
        "it ran for longer than",
    ),
    "recurses": (
        loop("%w = call i32 @total(ptr %a, i64 %n)\n  %v = add i32 %e, %w"),
        "crashed",
        "killed by SIGSEGV",
    ),
    "closes everything": (
        loop("%d = trunc i64 %i to i32\n  %r = call i32 @close(i32 %d)\n  " + CALL, declared=LIBC),
        "crashed",
        "exited with status 1",
    ),
    "writes to every descriptor": (
        loop(
            "%d = trunc i64 %i to i32\n  %t = call i64 @write(i32 %d, ptr @text, i64 6)\n  " + CALL,
            declared=LIBC,
        ),
        "crashed",
        "it wrote to a descriptor that is not its own",
    ),
    "writes beyond its array": (
        loop(CALL, before="%far = getelementptr i32, ptr %a, i64 %n\n  store i32 1, ptr %far"),
        "wrong result",
        "it writes beyond the array of argument 1",
    ),
    "needs what is not there": (
        loop(CALL, before="call void @nowhere()", declared="declare void @nowhere()"),
        "failed",
        "it needs nowhere, which no library defines",
    ),
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
    counts = (
        "@calls = internal global i32 0\n"
        "declare i32 @pause()\ndeclare i32 @raise(i32)\n"
        "define internal i32 @third(i32 %what) {{\n"
        "  %old = load i32, ptr @calls\n  %new = add i32 %old, 1\n  store i32 %new, ptr @calls\n"
        "  %is = icmp eq i32 %new, 3\n  br i1 %is, label %now, label %not\n"
        "now:\n  {now}\n  br label %not\nnot:\n  ret i32 0\n}}"
    )
    third = "%r = call i32 @third(i32 0)"
    crash, hang = "%x = call i32 @raise(i32 11)", "%x = call i32 @pause()"
    objects = {
        name: compiled(loop(CALL, before=third, declared=counts.format(now=now)), passes="default<O1>")
        for name, now in (("crash", crash), ("hang", hang))
    }
    objects["fine"] = compiled(SUM, "-unroll-count=2")
    harness = Harness("total", sum_harness().arguments, "i32", repeat=1)
    with Bench(harness, compiled(SUM)) as bench:
        found = bench.measure(objects, budget=quick())
    assert found.candidates["crash"].outcome == Outcome("crashed", "in round 1 killed by SIGSEGV")
    assert found.candidates["hang"].outcome.state == "timed out"
    assert found.candidates["hang"].ratio is None
    assert found.candidates["fine"].outcome == Outcome("ok")
    assert found.candidates["fine"].rounds == 10


def quick() -> Budget:
    return Budget(seconds=0)


@rows(
    ("ir", "words"),
    [
        (HOSTILE["crashes"][0], "the base cannot be measured: killed by SIGSEGV"),
        (HOSTILE["hangs"][0], "the base cannot be measured: it ran for longer than 0.5 s"),
        (
            HOSTILE["needs what is not there"][0],
            "the base cannot be measured: it cannot be loaded: it needs nowhere",
        ),
        (HOSTILE["writes beyond its array"][0], "the base writes beyond the array of argument 1"),
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
        check(sum_harness(), compiled(ir, passes="default<O1>"), {}, timeout=0.5)
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
    path = tmp_path / "case.toml"
    path.write_text('module = "module.ll"')
    with pytest.raises(OptctxError, match=r"cannot use the case .*: Object missing required field `harness`"):
        read_case(path)
    for more, words in {
        "option = 1": "unknown field `option`; did you mean options?",
        "opt_level = 9": r"Expected `int` <= 3 - at `\$.opt_level`",
        "relative_tolerance = -1.0": "a tolerance is a number that is not negative",
    }.items():
        case = Case(sum_harness(), Job(SUM)).write(tmp_path, base=b"", candidate=b"", outcome=Outcome("ok"))
        lines = pathlib.Path(case).read_text().splitlines()
        key = more.partition(" ")[0]
        pathlib.Path(case).write_text("\n".join([each for each in lines if each.split()[0] != key] + [more]))
        with pytest.raises(OptctxError, match=words):
            read_case(case)
    with pytest.raises(OptctxError, match="cannot write a case into"):
        Case(sum_harness(), Job(SUM)).write(path, base=b"", candidate=b"", outcome=Outcome("ok"))


class _Bomb:
    """Makes a file where it is unpickled."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (self._path,)


def test_what_a_kernel_says_in_place_of_its_worker_is_decoded_and_checked(tmp_path: pathlib.Path) -> None:
    """It writes frames to every descriptor: a pickle, another message, outputs of other sizes, a long one."""
    mark = tmp_path / "unpickled"
    bomb = pickle.dumps(_Bomb(str(mark)))
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


def named(name: str) -> int:
    """How many processes have the name."""
    found = 0
    for comm in pathlib.Path("/proc").glob("[0-9]*/comm"):
        with contextlib.suppress(OSError):
            found += comm.read_text() == f"{name}\n"
    return found


def test_what_a_kernel_has_started_ends_with_an_interrupted_measurement() -> None:
    name = f"left{os.getpid()}"
    before = (
        "%forked = call i32 @fork()\n  %set = call i32 (i32, ...) @prctl(i32 15, ptr @name)\n"
        "  %r = call i32 @pause()"
    )
    declared = (
        f'declare i32 @fork()\ndeclare i32 @prctl(i32, ...)\n@name = constant [16 x i8] c"{name:\0<16}"'
    )
    code = compiled(
        loop(CALL, before=before, declared=LIBC + declared.replace("\0", "\\00")), passes="default<O1>"
    )
    slow = loop(CALL, "%w = call i32 @usleep(i32 100000)", "declare i32 @usleep(i32)")  # so it may take 2 s
    with Bench(sum_harness(), compiled(slow), lock=False) as bench:
        assert bench._helper is not None
        bench._helper.line.tell(Examine("forks", code))
        wait_for(lambda: named(name) == 2)
    wait_for(lambda: named(name) == 0)
