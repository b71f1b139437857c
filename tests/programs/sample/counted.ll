; A loop that is left alone unless an option says otherwise.
; RUN: opt -passes='function(loop-unroll)' -unroll-count=3 %s
; RUN: opt -passes='function(loop-unroll)' -unroll-count 2 -inline-threshold=7 %s
; RUN: opt -passes='function(loop-unroll)' -unroll-threshold=30000 -unroll-full-max-count=900 %s
; RUN: opt -passes='function(loop-unroll)' -unroll-count=many %s
; RUN: opt -passes='function(no-such-pass)' -unroll-count=3 %s
; RUN: opt -passes='function(loop-unroll)' -debug-only=loop-unroll %s
; RUN: opt -passes='function(loop-unroll)' -unroll-count=2 -stats %s
; RUN: llc -mtriple=no-such-target -regalloc=fast %s
; RUN: llc -mtriple=x86_64-unknown-linux-gnu -regalloc=fast -filetype=obj %s
; RUN: llc -mtriple=x86_64-unknown-linux-gnu -debug -regalloc=basic %s

define void @counted(ptr %out) {
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

