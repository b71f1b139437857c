"""What the properties compile: a few lines whose code depends on each of a few options."""

from __future__ import annotations

from typing import Final

__all__ = ["KERNEL", "OPTIONS"]

# Read in a pass with its occurrences, in a pass behind a cl::location, and where a target's objects are made.
OPTIONS: Final = (
    ("-force-vector-width=2",),
    ("-force-vector-width=8",),
    ("-unroll-count=2",),
    ("-x86-asm-syntax=intel",),
)
KERNEL: Final = """\
target triple = "x86_64-unknown-linux-gnu"

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

define void @count(ptr %out) {
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
}
"""
