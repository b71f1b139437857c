"""Modules to compile. Imports nothing, so that programs without optctx can use it."""

from __future__ import annotations

X86 = "x86_64-unknown-linux-gnu"
UNROLL = "function(loop-unroll)"


def counted(name: str, attribute: str = "") -> str:
    """A function of 840 iterations, which `UNROLL` leaves alone unless `unroll-count` says otherwise."""
    return f"""
define void @{name}(ptr %out) {attribute + " " if attribute else ""}{{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %to = getelementptr i64, ptr %out, i64 %i
  store volatile i64 %i, ptr %to
  %next = add nuw nsw i64 %i, 1
  %more = icmp ult i64 %next, 840
  br i1 %more, label %loop, label %done
done:
  ret void
}}
"""


COUNTED = counted("count")
# Unrolled and vectorised by -O3 as the options say.
SCALE = """
define void @scale(ptr noalias %out, ptr noalias %in, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %from = getelementptr float, ptr %in, i64 %i
  %value = load float, ptr %from
  %scaled = fmul float %value, 3.0
  %to = getelementptr float, ptr %out, i64 %i
  store float %scaled, ptr %to
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
"""
# Inlined by -O3 as the options say.
CALLS = """
declare void @use(ptr)
define internal i32 @callee(i32 %x) {
  %space = alloca [64 x i8]
  call void @use(ptr %space)
  %square = mul i32 %x, %x
  %sum = add i32 %square, 7
  ret i32 %sum
}
define i32 @caller(i32 %a, i32 %b) {
  %p = call i32 @callee(i32 %a)
  %q = call i32 @callee(i32 %b)
  %r = xor i32 %p, %q
  ret i32 %r
}
"""
# A switch (bit tests and jump tables), code that is never reached, a division, calls, an address.
LOWERED = """
@table = global [64 x i64] zeroinitializer
declare void @other()
declare void @stop() noreturn
define i64 @choose(i64 %x, i64 %y) {
  switch i64 %x, label %none [
    i64 1, label %one
    i64 4, label %one
    i64 9, label %one
    i64 11, label %two
    i64 12, label %three
    i64 13, label %four
    i64 14, label %two
  ]
one:
  %s = sdiv i64 %y, %x
  ret i64 %s
two:
  call void @other()
  %p = getelementptr i64, ptr @table, i64 %x
  %v = load i64, ptr %p
  ret i64 %v
three:
  call void @stop()
  unreachable
four:
  %a = icmp sgt i64 %y, 5
  %q = load i64, ptr @table
  %b = icmp slt i64 %q, 500
  %c = and i1 %a, %b
  br i1 %c, label %two, label %none
none:
  switch i64 %y, label %end [
    i64 1, label %some
    i64 14, label %some
    i64 29, label %some
  ]
some:
  call void @other()
  br label %end
end:
  ret i64 0
}
"""

# A switch that is a jump table where there are enough cases for one.
CASES = range(12)
SWITCH = (
    """declare void @g(i32)
define void @f(i32 %x) {
  switch i32 %x, label %end [
"""
    + "".join(f"    i32 {each}, label %b{each}\n" for each in CASES)
    + "  ]\n"
    + "".join(f"b{each}:\n  call void @g(i32 {each * each})\n  ret void\n" for each in CASES)
    + "end:\n  ret void\n}\n"
)
