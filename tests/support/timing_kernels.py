"""Kernels in LLVM IR that the tests of timing compile, right ones and hostile ones."""

from __future__ import annotations

from functools import cache

from optctx import OptionContext
from optctx.compiling import Job, compile_job
from optctx.lab.timing import Array, Bench, Harness, Value

__all__ = [
    "DOT",
    "HASH",
    "MATMUL",
    "SUM",
    "compiled",
    "dot_harness",
    "hash_harness",
    "loop",
    "matmul_harness",
    "pid_of",
    "sum_harness",
]


def loop(body: str, before: str = "", declared: str = "", name: str = "total") -> str:
    """A sum over the elements of an i32 array; `body` makes %v of the element %e, `before` runs first."""
    return f"""
{declared}
define i32 @{name}(ptr %a, i64 %n) {{
entry:
  {before}
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %s = phi i32 [ 0, %entry ], [ %sum, %loop ]
  %p = getelementptr i32, ptr %a, i64 %i
  %e = load i32, ptr %p
  {body}
  %sum = add i32 %s, %v
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %end
end:
  ret i32 %sum
}}
"""


SUM = loop("%v = add i32 %e, 0")

# c = a * b, of 24 by 24 floats.
MATMUL = """
define void @matmul(ptr noalias %c, ptr noalias %a, ptr noalias %b) {
entry:
  br label %rows
rows:
  %i = phi i64 [ 0, %entry ], [ %i.next, %rows.end ]
  br label %columns
columns:
  %j = phi i64 [ 0, %rows ], [ %j.next, %columns.end ]
  br label %inner
inner:
  %k = phi i64 [ 0, %columns ], [ %k.next, %inner ]
  %sum = phi float [ 0.0, %columns ], [ %more, %inner ]
  %ik = mul i64 %i, 24
  %at.a = add i64 %ik, %k
  %p.a = getelementptr float, ptr %a, i64 %at.a
  %x = load float, ptr %p.a
  %kj = mul i64 %k, 24
  %at.b = add i64 %kj, %j
  %p.b = getelementptr float, ptr %b, i64 %at.b
  %y = load float, ptr %p.b
  %xy = fmul reassoc float %x, %y
  %more = fadd reassoc float %sum, %xy
  %k.next = add i64 %k, 1
  %k.done = icmp eq i64 %k.next, 24
  br i1 %k.done, label %columns.end, label %inner
columns.end:
  %at.c = add i64 %ik, %j
  %p.c = getelementptr float, ptr %c, i64 %at.c
  store float %more, ptr %p.c
  %j.next = add i64 %j, 1
  %j.done = icmp eq i64 %j.next, 24
  br i1 %j.done, label %rows.end, label %columns
rows.end:
  %i.next = add i64 %i, 1
  %i.done = icmp eq i64 %i.next, 24
  br i1 %i.done, label %end, label %rows
end:
  ret void
}
"""

# Reads a table of its own: code of the default model has its address in 32 bits.
HASH = """
@table = internal constant [8 x i64] [i64 11, i64 -22, i64 33, i64 -44, i64 55, i64 -66, i64 77, i64 -88]
define i64 @hash(ptr %bytes, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %h = phi i64 [ 14695981039346656037, %entry ], [ %mixed, %loop ]
  %p = getelementptr i8, ptr %bytes, i64 %i
  %b = load i8, ptr %p
  %wide = zext i8 %b to i64
  %xor = xor i64 %h, %wide
  %low = and i64 %xor, 7
  %q = getelementptr [8 x i64], ptr @table, i64 0, i64 %low
  %salt = load i64, ptr %q
  %salted = add i64 %xor, %salt
  %mixed = mul i64 %salted, 1099511628211
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %end
end:
  ret i64 %mixed
}
"""


DOT = """
define float @dot(ptr %a, ptr %b, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %s = phi float [ 0.0, %entry ], [ %sum, %loop ]
  %p = getelementptr float, ptr %a, i64 %i
  %q = getelementptr float, ptr %b, i64 %i
  %x = load float, ptr %p
  %y = load float, ptr %q
  %xy = fmul reassoc float %x, %y
  %sum = fadd reassoc float %s, %xy
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %end
end:
  ret float %sum
}
"""


def sum_harness(length: int = 2048) -> Harness:
    return Harness("total", (Array("i32", (length,), low=-50, high=50), Value(length)), "i32")


def matmul_harness() -> Harness:
    square = (24, 24)
    return Harness(
        "matmul",
        (
            Array("f32", square, fill="zeros", output=True),
            Array("f32", square, seed=1, low=-1),
            Array("f32", square, seed=2),
        ),
    )


def hash_harness() -> Harness:
    return Harness("hash", (Array("u8", (512,), high=255), Value(512)), "u64")


def dot_harness() -> Harness:
    return Harness("dot", (Array("f32", (1000,), seed=1), Array("f32", (1000,), seed=2), Value(1000)), "f32")


@cache
def compiled(ir: str, *options: str, passes: str = "default<O3>") -> bytes:
    """The object under these options ("-unroll-count=4"), by threads in this process."""
    with OptionContext.from_args(options, base="defaults"):
        result = compile_job(Job(ir, passes))
    assert result.error is None, result.error
    return result.code


def pid_of(bench: Bench) -> int:
    """The number of the helper process."""
    return bench._ready.process
