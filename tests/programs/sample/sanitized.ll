; Functions that sanitizers and instrumentation rewrite.
; RUN: opt -passes=asan -mtriple=x86_64-unknown-linux-gnu -asan-mapping-offset=1 %s
; RUN: opt -passes=asan -mtriple=x86_64-unknown-linux-gnu -asan-max-inline-poisoning-size=1 %s
; RUN: opt -passes=asan -mtriple=x86_64-unknown-linux-gnu -asan-use-odr-indicator=false %s
; RUN: opt -passes=asan -mtriple=x86_64-unknown-linux-gnu -asan-stack-dynamic-alloca=false %s
; RUN: opt -passes=asan -mtriple=x86_64-unknown-linux-gnu -asan-guard-against-version-mismatch=false %s
; RUN: opt -passes=asan -mtriple=x86_64-unknown-linux-gnu -asan-use-after-scope=true %s
; RUN: opt -passes=asan -mtriple=x86_64-unknown-linux-gnu -asan-destructor-kind=none %s
; RUN: opt -passes=asan -mtriple=x86_64-unknown-linux-gnu -asan-globals-live-support=false %s
; RUN: opt -passes=asan -mtriple=x86_64-unknown-linux-gnu -asan-use-private-alias=false %s
; RUN: opt -passes=asan -mtriple=x86_64-unknown-linux-gnu -asan-realign-stack=1 %s
; RUN: opt -passes=asan -mtriple=x86_64-unknown-linux-gnu -asan-stack=false %s
; RUN: opt -passes=asan -mtriple=x86_64-unknown-linux-gnu -asan-use-after-return=always %s
; RUN: opt -passes=asan -mtriple=x86_64-unknown-linux-gnu -asan-use-after-return=always -asan-realign-stack=1 %s
; RUN: opt -passes=msan -mtriple=x86_64-unknown-linux-gnu -msan-check-access-address=false %s
; RUN: opt -passes=msan -mtriple=x86_64-unknown-linux-gnu -msan-poison-stack=false %s
; RUN: opt -passes=msan -mtriple=x86_64-unknown-linux-gnu -msan-poison-stack-pattern=0 %s
; RUN: opt -passes=msan -mtriple=x86_64-unknown-linux-gnu -msan-instrumentation-with-call-threshold=3 %s
; RUN: opt -passes=msan -mtriple=x86_64-unknown-linux-gnu -msan-handle-icmp=false %s
; RUN: opt -passes=msan -mtriple=x86_64-unknown-linux-gnu -msan-instrumentation-with-call-threshold=3 -msan-check-access-address=false -msan-handle-icmp=false %s
; RUN: opt -passes='function(tsan)' -mtriple=x86_64-unknown-linux-gnu -tsan-distinguish-volatile=true %s
; RUN: opt -passes='function(tsan)' -mtriple=x86_64-unknown-linux-gnu -tsan-instrument-read-before-write=true %s
; RUN: opt -passes='function(tsan)' -mtriple=x86_64-unknown-linux-gnu -tsan-instrument-atomics=false %s
; RUN: opt -passes='function(tsan)' -mtriple=x86_64-unknown-linux-gnu -tsan-instrument-func-entry-exit=false %s
; RUN: opt -passes='function(tsan)' -mtriple=x86_64-unknown-linux-gnu -tsan-instrument-func-entry-exit=false -tsan-instrument-read-before-write=true %s
; RUN: opt -passes=hwasan -mtriple=aarch64-unknown-linux-gnu -hwasan-memory-access-callback-prefix=x %s
; RUN: opt -passes=hwasan -mtriple=aarch64-unknown-linux-gnu -hwasan-instrument-with-calls=true %s
; RUN: opt -passes=hwasan -mtriple=aarch64-unknown-linux-gnu -hwasan-instrument-atomics=false %s
; RUN: opt -passes=hwasan -mtriple=aarch64-unknown-linux-gnu -hwasan-mapping-offset-dynamic=ifunc %s
; RUN: opt -passes=hwasan -mtriple=aarch64-unknown-linux-gnu -hwasan-random-rate=0 %s
; RUN: opt -passes=hwasan -mtriple=aarch64-unknown-linux-gnu -hwasan-instrument-reads=false %s
; RUN: opt -passes=hwasan -mtriple=aarch64-unknown-linux-gnu -hwasan-instrument-writes=false %s
; RUN: opt -passes=hwasan -mtriple=aarch64-unknown-linux-gnu -hwasan-kernel=true %s
; RUN: opt -passes=hwasan -mtriple=aarch64-unknown-linux-gnu -hwasan-instrument-stack=false %s
; RUN: opt -passes=hwasan -mtriple=aarch64-unknown-linux-gnu -hwasan-static-linking=true %s
; RUN: opt -passes=hwasan -mtriple=aarch64-unknown-linux-gnu -hwasan-instrument-writes=false -hwasan-instrument-atomics=false %s
; RUN: opt -passes=sancov-module -mtriple=x86_64-unknown-linux-gnu -sanitizer-coverage-level=3 %s
; RUN: opt -passes='pgo-instr-gen,instrprof' -mtriple=x86_64-unknown-linux-gnu -vp-static-alloc=false %s
; RUN: opt -passes='pgo-instr-gen,instrprof' -mtriple=x86_64-unknown-linux-gnu -pgo-instrument-cold-function-only=true %s
; RUN: opt -passes='pgo-instr-gen,instrprof' -mtriple=x86_64-unknown-linux-gnu -pgo-instrument-entry=true %s
; RUN: opt -passes='pgo-instr-gen,instrprof' -mtriple=x86_64-unknown-linux-gnu -enable-name-compression=false %s
; RUN: opt -passes='pgo-instr-gen,instrprof' -mtriple=x86_64-unknown-linux-gnu -pgo-instrument-entry=true -pgo-instrument-cold-function-only=true -enable-name-compression=false %s
; RUN: opt -passes='memprof-module,function(memprof)' -mtriple=x86_64-unknown-linux-gnu -memprof-guard-against-version-mismatch=false %s
; RUN: opt -passes='memprof-module,function(memprof)' -mtriple=x86_64-unknown-linux-gnu -memprof-instrument-writes=false %s
; RUN: opt -passes='memprof-module,function(memprof)' -mtriple=x86_64-unknown-linux-gnu -memprof-instrument-atomics=false %s
; RUN: opt -passes='memprof-module,function(memprof)' -mtriple=x86_64-unknown-linux-gnu -memprof-histogram=true %s
; RUN: opt -passes='memprof-module,function(memprof)' -mtriple=x86_64-unknown-linux-gnu -memprof-mapping-scale=1 %s
; RUN: opt -passes='memprof-module,function(memprof)' -mtriple=x86_64-unknown-linux-gnu -memprof-instrument-stack=true %s
; RUN: opt -passes='memprof-module,function(memprof)' -mtriple=x86_64-unknown-linux-gnu -memprof-instrument-stack=true -memprof-mapping-scale=1 -memprof-instrument-atomics=false %s

@shared = global [10 x i32] zeroinitializer
@text = private unnamed_addr constant [6 x i8] c"hello\00"

declare void @external(ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare i32 @memcmp(ptr, ptr, i64)

define i32 @address(ptr %p, i64 %i) sanitize_address {
entry:
  %local = alloca [12 x i32]
  %at = getelementptr i32, ptr %p, i64 %i
  %a = load i32, ptr %at
  %b = getelementptr [12 x i32], ptr %local, i64 0, i64 %i
  store i32 %a, ptr %b
  call void @external(ptr %local)
  call void @llvm.memcpy.p0.p0.i64(ptr %p, ptr %local, i64 48, i1 false)
  %g = getelementptr [10 x i32], ptr @shared, i64 0, i64 %i
  %c = load i32, ptr %g
  %again = load i32, ptr %g
  %d = add i32 %a, %c
  %e = add i32 %d, %again
  ret i32 %e
}

define i32 @memory(ptr %p, i32 %x, float %f) sanitize_memory {
entry:
  %local = alloca i32
  %a = load i32, ptr %p
  %b = icmp eq i32 %a, %x
  br i1 %b, label %then, label %done
then:
  call void @external(ptr %local)
  %c = load i32, ptr %local
  %d = sdiv i32 %c, %a
  ret i32 %d
done:
  %e = and i32 %a, 255
  %q = fptosi float %f to i32
  %r = or i32 %e, %q
  store i32 %r, ptr %p
  %w = atomicrmw add ptr %p, i32 1 seq_cst
  ret i32 %r
}

define i32 @thread(ptr %p) sanitize_thread {
  %a = load i32, ptr %p
  %b = add i32 %a, 1
  store i32 %b, ptr %p
  %c = atomicrmw add ptr %p, i32 1 seq_cst
  %d = load volatile i32, ptr %p
  call void @llvm.memcpy.p0.p0.i64(ptr @shared, ptr %p, i64 16, i1 false)
  ret i32 %b
}

define i32 @tagged(ptr %p, i64 %i) sanitize_hwaddress {
  %local = alloca [4 x i32]
  %a = load i32, ptr %p
  %b = getelementptr [4 x i32], ptr %local, i64 0, i64 %i
  store i32 %a, ptr %b
  call void @external(ptr %local)
  %c = load i32, ptr %b
  %d = atomicrmw add ptr %p, i32 1 seq_cst
  ret i32 %c
}

define i32 @covered(i32 %x, ptr %function, ptr %p) {
entry:
  %a = icmp ult i32 %x, 10
  br i1 %a, label %then, label %else
then:
  call void %function(ptr %p)
  br label %join
else:
  switch i32 %x, label %join [
    i32 77, label %then
    i32 99, label %other
  ]
other:
  %q = sdiv i32 1000, %x
  %at = getelementptr i32, ptr %p, i32 %q
  %l = load i32, ptr %at
  br label %join
join:
  %v = phi i32 [ 0, %then ], [ 1, %else ], [ %l, %other ]
  %s = select i1 %a, i32 %v, i32 %x
  ret i32 %s
}

define i32 @counted(i32 %n, ptr %p) {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %sum = phi i32 [ 0, %entry ], [ %sum.next, %loop ]
  %at = getelementptr i32, ptr %p, i32 %i
  %x = load i32, ptr %at
  %sum.next = add i32 %sum, %x
  %next = add i32 %i, 1
  %more = icmp slt i32 %next, %n
  br i1 %more, label %loop, label %done
done:
  %same = call i32 @memcmp(ptr %p, ptr @text, i64 5)
  %r = add i32 %sum.next, %same
  ret i32 %r
}

define double @numeric(double %a, float %b) sanitize_numerical_stability {
  %c = fpext float %b to double
  %d = fadd double %a, %c
  %e = fptrunc double %d to float
  %f = fcmp ogt float %e, 1.0
  %g = select i1 %f, double %d, double %a
  ret double %g
}
