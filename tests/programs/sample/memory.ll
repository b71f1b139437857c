; Loads and stores: forwarded, merged, hoisted, removed, split into scalars, turned into calls.
; RUN: opt -passes='default<O2>' -mtriple=x86_64-unknown-linux-gnu -memdep-block-number-limit=1 %s
; RUN: opt -passes='default<O2>' -mtriple=x86_64-unknown-linux-gnu -aggressive-instcombine-max-scan-instrs=3 %s
; RUN: opt -passes='default<O2>' -mtriple=x86_64-unknown-linux-gnu -enable-load-pre=false %s
; RUN: opt -passes='default<O2>' -mtriple=x86_64-unknown-linux-gnu -slp-threshold=3 %s
; RUN: opt -passes='default<O2>' -mtriple=x86_64-unknown-linux-gnu -memssa-check-limit=0 %s
; RUN: opt -passes='default<O2>' -mtriple=x86_64-unknown-linux-gnu -dse-memoryssa-walklimit=1 %s
; RUN: opt -passes='default<O2>' -mtriple=x86_64-unknown-linux-gnu -dse-memoryssa-scanlimit=1 %s
; RUN: opt -passes='default<O2>' -mtriple=x86_64-unknown-linux-gnu -scev-addops-inline-threshold=0 %s
; RUN: opt -passes='default<O2>' -mtriple=x86_64-unknown-linux-gnu -dse-memoryssa-otherbb-cost=1000 %s
; RUN: opt -passes='default<O2>' -mtriple=x86_64-unknown-linux-gnu -gvn-max-num-deps=0 %s
; RUN: opt -passes='default<O2>' -mtriple=x86_64-unknown-linux-gnu -slp-threshold=3 -aggressive-instcombine-max-scan-instrs=3 %s
; RUN: opt -passes='default<O2>' -mtriple=x86_64-unknown-linux-gnu -rotation-prepare-for-lto=true %s
; RUN: opt -passes='default<O2>' -mtriple=x86_64-unknown-linux-gnu -branch-relax-asm-large=false %s
; RUN: opt -passes='function(mergeicmps,expand-memcmp,dse,memcpyopt,alignment-from-assumptions,separate-const-offset-from-gep,newgvn)' -mtriple=x86_64-unknown-linux-gnu -dse-memoryssa-path-check-limit=0 %s
; RUN: opt -passes='function(mergeicmps,expand-memcmp,dse,memcpyopt,alignment-from-assumptions,separate-const-offset-from-gep,newgvn)' -mtriple=x86_64-unknown-linux-gnu -max-loads-per-memcmp=1 %s
; RUN: opt -passes='function(mergeicmps,expand-memcmp,dse,memcpyopt,alignment-from-assumptions,separate-const-offset-from-gep,newgvn)' -mtriple=x86_64-unknown-linux-gnu -dse-memoryssa-defs-per-block-limit=1 %s
; RUN: llc -mtriple=x86_64-unknown-linux-gnu -x86-experimental-pref-innermost-loop-alignment=1 %s
; RUN: llc -mtriple=x86_64-unknown-linux-gnu -max-store-memcpy=3 %s
; RUN: llc -mtriple=x86_64-unknown-linux-gnu -tail-merge-size=1 %s
; RUN: llc -mtriple=x86_64-unknown-linux-gnu -combiner-store-merging=false %s
; RUN: llc -mtriple=x86_64-unknown-linux-gnu -machine-sink-split=false %s
; RUN: llc -mtriple=x86_64-unknown-linux-gnu -aggressive-machine-cse=true %s
; RUN: llc -mtriple=x86_64-unknown-linux-gnu -max-store-memmove=1 %s
; RUN: llc -mtriple=x86_64-unknown-linux-gnu -use-mbpi=false %s
; RUN: llc -mtriple=x86_64-unknown-linux-gnu -max-bytes-for-alignment=1 %s
; RUN: llc -mtriple=x86_64-unknown-linux-gnu -combiner-store-merging=false -max-store-memmove=1 %s
; RUN: llc -mtriple=aarch64-unknown-linux-gnu -aarch64-enable-branch-relax=false %s
; RUN: llc -mtriple=aarch64-unknown-linux-gnu -aarch64-enable-gep-opt=true %s
; RUN: llc -mtriple=aarch64-unknown-linux-gnu -aarch64-enable-ldst-opt=false %s
; RUN: llc -mtriple=aarch64-unknown-linux-gnu -aarch64-load-store-scan-limit=1 %s
; RUN: llc -mtriple=aarch64-unknown-linux-gnu -aarch64-max-xors=0 %s
; RUN: llc -mtriple=aarch64-unknown-linux-gnu -aarch64-neon-syntax=apple %s
; RUN: llc -mtriple=aarch64-unknown-linux-gnu -aarch64-enable-gep-opt=true -aarch64-enable-branch-relax=false %s
; RUN: llc -mtriple=riscv64-unknown-linux-gnu -mattr=+m,+v -riscv-disable-regalloc-hints=true %s
; RUN: llc -mtriple=riscv64-unknown-linux-gnu -mattr=+m,+v -riscv-emit-x8-as-fp=true %s
; RUN: llc -mtriple=riscv64-unknown-linux-gnu -mattr=+m,+v -riscv-enable-cfi-instr-inserter=true %s
; RUN: llc -mtriple=riscv64-unknown-linux-gnu -mattr=+m,+v -riscv-no-aliases=true %s
; RUN: llc -mtriple=riscv64-unknown-linux-gnu -mattr=+m,+v -riscv-rvv-regalloc=fast %s
; RUN: llc -mtriple=riscv64-unknown-linux-gnu -mattr=+m,+v -riscv-use-aa=false %s
; RUN: llc -mtriple=riscv64-unknown-linux-gnu -mattr=+m,+v -riscv-use-aa=false -riscv-no-aliases=true %s
; RUN: llc -mtriple=mips64el-unknown-linux-gnu -mcpu=mips64r6 -disable-post-ra %s
; RUN: llc -mtriple=armv7-unknown-linux-gnueabihf -arm-global-merge=false -max-store-memcpy=2 %s
; RUN: llc -mtriple=loongarch64-unknown-linux-gnu -disable-machine-licm -combiner-store-merging=false %s

%record = type { i32, i32, [6 x i32], ptr }

declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.lifetime.start.p0(ptr)
declare void @llvm.lifetime.end.p0(ptr)
declare void @llvm.assume(i1)
declare i32 @memcmp(ptr, ptr, i64)
declare i64 @strlen(ptr)
declare void @external(ptr)

define void @copies(ptr %to, ptr %from, ptr %third) {
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 256, i1 false)
  call void @llvm.memset.p0.i64(ptr %third, i8 0, i64 96, i1 false)
  call void @llvm.memmove.p0.p0.i64(ptr %third, ptr %to, i64 40, i1 false)
  ret void
}

define i32 @copy_of_copy(ptr %from) {
  %a = alloca %record
  %b = alloca %record
  call void @llvm.lifetime.start.p0(ptr %a)
  call void @llvm.memcpy.p0.p0.i64(ptr %a, ptr %from, i64 40, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr %b, ptr %a, i64 40, i1 false)
  call void @llvm.lifetime.end.p0(ptr %a)
  call void @external(ptr %b)
  %p = getelementptr %record, ptr %b, i32 0, i32 1
  %v = load i32, ptr %p
  ret i32 %v
}

define i32 @compare(ptr %a, ptr %b) {
  %1 = call i32 @memcmp(ptr %a, ptr %b, i64 16)
  %2 = icmp eq i32 %1, 0
  %3 = zext i1 %2 to i32
  ret i32 %3
}

define i32 @compare_order(ptr %a, ptr %b) {
  %1 = call i32 @memcmp(ptr %a, ptr %b, i64 12)
  ret i32 %1
}

define i1 @compare_fields(ptr %a, ptr %b) {
entry:
  %a0 = load i32, ptr %a
  %b0 = load i32, ptr %b
  %same0 = icmp eq i32 %a0, %b0
  br i1 %same0, label %second, label %done
second:
  %pa1 = getelementptr %record, ptr %a, i32 0, i32 1
  %pb1 = getelementptr %record, ptr %b, i32 0, i32 1
  %a1 = load i32, ptr %pa1
  %b1 = load i32, ptr %pb1
  %same1 = icmp eq i32 %a1, %b1
  br i1 %same1, label %third, label %done
third:
  %pa2 = getelementptr %record, ptr %a, i32 0, i32 2
  %pb2 = getelementptr %record, ptr %b, i32 0, i32 2
  %a2 = load i32, ptr %pa2
  %b2 = load i32, ptr %pb2
  %same2 = icmp eq i32 %a2, %b2
  br label %done
done:
  %r = phi i1 [ false, %entry ], [ false, %second ], [ %same2, %third ]
  ret i1 %r
}

define void @constants(ptr %p) {
  store i8 1, ptr %p
  %p1 = getelementptr i8, ptr %p, i64 1
  store i8 2, ptr %p1
  %p2 = getelementptr i8, ptr %p, i64 2
  store i8 3, ptr %p2
  %p3 = getelementptr i8, ptr %p, i64 3
  store i8 4, ptr %p3
  %p4 = getelementptr i8, ptr %p, i64 4
  store i32 0, ptr %p4
  %p8 = getelementptr i8, ptr %p, i64 8
  store i64 0, ptr %p8
  %p16 = getelementptr i8, ptr %p, i64 16
  store i64 0, ptr %p16
  ret void
}

define i32 @assemble(ptr %p) {
  %a = load i8, ptr %p
  %p1 = getelementptr i8, ptr %p, i64 1
  %b = load i8, ptr %p1
  %p2 = getelementptr i8, ptr %p, i64 2
  %c = load i8, ptr %p2
  %p3 = getelementptr i8, ptr %p, i64 3
  %d = load i8, ptr %p3
  %az = zext i8 %a to i32
  %bz = zext i8 %b to i32
  %cz = zext i8 %c to i32
  %dz = zext i8 %d to i32
  %b8 = shl i32 %bz, 8
  %c16 = shl i32 %cz, 16
  %d24 = shl i32 %dz, 24
  %ab = or i32 %az, %b8
  %abc = or i32 %ab, %c16
  %abcd = or i32 %abc, %d24
  ret i32 %abcd
}

define i32 @partly_redundant(i1 %c, ptr %p, i32 %x) {
entry:
  br i1 %c, label %then, label %join
then:
  %a = load i32, ptr %p
  call void @external(ptr null)
  store i32 %a, ptr %p
  br label %join
join:
  %b = load i32, ptr %p
  %d = add i32 %b, %x
  ret i32 %d
}

define void @dead(ptr noalias %p, ptr noalias %q, i1 %c) {
entry:
  store i32 1, ptr %p
  store i32 2, ptr %q
  br i1 %c, label %then, label %else
then:
  store i32 3, ptr %p
  br label %join
else:
  store i32 4, ptr %p
  store i32 2, ptr %q
  br label %join
join:
  %late = getelementptr i8, ptr %q, i64 2
  call void @llvm.memset.p0.i64(ptr %q, i8 7, i64 32, i1 false)
  store i64 5, ptr %late
  ret void
}

define i32 @scalars(i32 %x, i32 %which) {
  %r = alloca %record
  %a = getelementptr %record, ptr %r, i32 0, i32 0
  store i32 %x, ptr %a
  %e = getelementptr %record, ptr %r, i32 0, i32 2, i32 %which
  store i32 12, ptr %e
  %v = load i32, ptr %a
  %w = load i32, ptr %e
  %s = add i32 %v, %w
  ret i32 %s
}

define i32 @in_loop(ptr %p, ptr noalias %q, i32 %n) {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %inv = load i32, ptr %p
  %t = load i32, ptr %q
  %u = add i32 %t, %inv
  store i32 %u, ptr %q
  %next = add i32 %i, 1
  %more = icmp slt i32 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret i32 %u
}

define i64 @address(ptr %p, i64 %i, i64 %j) {
  %base = getelementptr [100 x [10 x i64]], ptr %p, i64 %i
  %x0 = getelementptr [100 x [10 x i64]], ptr %base, i64 0, i64 %j, i64 1
  %x1 = getelementptr [100 x [10 x i64]], ptr %base, i64 0, i64 %j, i64 2
  %far = getelementptr i8, ptr %p, i64 70000
  %farther = getelementptr i8, ptr %p, i64 70008
  %a = load i64, ptr %x0
  %b = load i64, ptr %x1
  %c = load i64, ptr %far
  %d = load i64, ptr %farther
  %e = add i64 %a, %b
  %f = add i64 %c, %d
  %g = mul i64 %e, %f
  ret i64 %g
}

define void @assumed(ptr %p) {
  %a = ptrtoint ptr %p to i64
  %b = and i64 %a, 31
  %c = icmp eq i64 %b, 0
  call void @llvm.assume(i1 %c)
  store <4 x i32> zeroinitializer, ptr %p, align 4
  ret void
}

define i32 @atomics(ptr %p, i32 %x) {
  %a = atomicrmw add ptr %p, i32 %x seq_cst
  %b = cmpxchg ptr %p, i32 %a, i32 %x acq_rel monotonic
  %c = extractvalue { i32, i1 } %b, 0
  %d = load atomic i32, ptr %p acquire, align 4
  fence seq_cst
  %e = add i32 %c, %d
  ret i32 %e
}

define void @big_frame(i64 %n) ssp {
  %a = alloca [5000 x i8]
  %b = alloca i8, i64 %n
  call void @external(ptr %a)
  call void @external(ptr %b)
  ret void
}
