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
