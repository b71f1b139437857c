; Loops to unroll, vectorise, unswitch, rotate, interchange and reduce in strength.
; RUN: opt -passes='default<O3>' -mtriple=x86_64-unknown-linux-gnu -mcpu=skylake-avx512 -instcombine-code-sinking=false %s
; RUN: opt -passes='default<O3>' -mtriple=x86_64-unknown-linux-gnu -mcpu=skylake-avx512 -vectorize-scev-check-threshold=1 %s
; RUN: opt -passes='default<O3>' -mtriple=x86_64-unknown-linux-gnu -mcpu=skylake-avx512 -extra-vectorizer-passes=true %s
; RUN: opt -passes='default<O3>' -mtriple=x86_64-unknown-linux-gnu -mcpu=skylake-avx512 -small-loop-cost=1 %s
; RUN: opt -passes='default<O3>' -mtriple=x86_64-unknown-linux-gnu -mcpu=skylake-avx512 -attributor-enable=module %s
; RUN: opt -passes='default<O3>' -mtriple=x86_64-unknown-linux-gnu -mcpu=skylake-avx512 -enable-mem-access-versioning=false %s
; RUN: opt -passes='default<O3>' -mtriple=x86_64-unknown-linux-gnu -mcpu=skylake-avx512 -epilogue-vectorization-minimum-VF=1000 %s
; RUN: opt -passes='default<O3>' -mtriple=x86_64-unknown-linux-gnu -mcpu=skylake-avx512 -unroll-max-iteration-count-to-analyze=1000 %s
; RUN: opt -passes='default<O3>' -mtriple=x86_64-unknown-linux-gnu -mcpu=skylake-avx512 -enable-module-inliner=true %s
; RUN: opt -passes='default<O3>' -mtriple=x86_64-unknown-linux-gnu -mcpu=skylake-avx512 -unroll-runtime=true %s
; RUN: opt -passes='default<O3>' -mtriple=x86_64-unknown-linux-gnu -mcpu=skylake-avx512 -disable-nofree-inference=true %s
; RUN: opt -passes='default<O3>' -mtriple=x86_64-unknown-linux-gnu -mcpu=skylake-avx512 -partial-unrolling-threshold=1 %s
; RUN: opt -passes='default<O3>' -mtriple=x86_64-unknown-linux-gnu -mcpu=skylake-avx512 -laa-speculate-unit-stride=false %s
; RUN: opt -passes='default<O3>' -mtriple=x86_64-unknown-linux-gnu -mcpu=skylake-avx512 -disable-nounwind-inference=true %s
; RUN: opt -passes='default<O2>' -mtriple=aarch64-unknown-linux-gnu -mcpu=neoverse-v1 -aarch64-force-unroll-threshold=1000 %s
; RUN: opt -passes='default<O2>' -mtriple=aarch64-unknown-linux-gnu -mcpu=neoverse-v1 -aarch64-insert-extract-base-cost=1 %s
; RUN: opt -passes='default<O2>' -mtriple=aarch64-unknown-linux-gnu -mcpu=neoverse-v1 -sve-gather-overhead=1 %s
; RUN: opt -passes='default<O2>' -mtriple=aarch64-unknown-linux-gnu -mcpu=neoverse-v1 -sve-tail-folding-insn-threshold=0 %s
; RUN: opt -passes='default<O2>' -mtriple=aarch64-unknown-linux-gnu -mcpu=neoverse-v1 -sve-vscale-for-tuning=1 %s
; RUN: opt -passes='default<O2>' -mtriple=aarch64-unknown-linux-gnu -mcpu=neoverse-v1 -unroll-threshold=3 %s
; RUN: opt -passes='default<O2>' -mtriple=aarch64-unknown-linux-gnu -mcpu=neoverse-v1 -scalar-evolution-huge-expr-threshold=1 %s
; RUN: opt -passes='default<O2>' -mtriple=aarch64-unknown-linux-gnu -mcpu=neoverse-v1 -max-interleave-group-factor=1 %s
; RUN: opt -passes='default<O2>' -mtriple=aarch64-unknown-linux-gnu -mcpu=neoverse-v1 -vectorizer-min-trip-count=1000 %s
; RUN: opt -passes='default<O2>' -mtriple=aarch64-unknown-linux-gnu -mcpu=neoverse-v1 -prefer-inloop-reductions=true %s
; RUN: opt -passes='default<O2>' -mtriple=aarch64-unknown-linux-gnu -mcpu=neoverse-v1 -enable-if-conversion=false %s
; RUN: opt -passes='default<O2>' -mtriple=aarch64-unknown-linux-gnu -mcpu=neoverse-v1 -instcombine-simplify-vector-elts-depth=0 %s
; RUN: opt -passes='default<O2>' -mtriple=aarch64-unknown-linux-gnu -mcpu=neoverse-v1 -force-target-max-scalar-interleave=1 %s
; RUN: opt -passes='default<O2>' -mtriple=aarch64-unknown-linux-gnu -mcpu=neoverse-v1 -disable-loop-idiom-all=true %s
; RUN: opt -passes='default<O3>' -mtriple=riscv64-unknown-linux-gnu -mattr=+v -riscv-v-min-trip-count=1000 %s
; RUN: opt -passes='default<O3>' -mtriple=riscv64-unknown-linux-gnu -mattr=+v -riscv-v-register-bit-width-lmul=0 %s
; RUN: opt -passes='default<O3>' -mtriple=riscv64-unknown-linux-gnu -mattr=+v -unroll-allow-partial=true %s
; RUN: opt -passes='default<O3>' -mtriple=riscv64-unknown-linux-gnu -mattr=+v -unroll-threshold-aggressive=1 %s
; RUN: opt -passes='default<O3>' -mtriple=riscv64-unknown-linux-gnu -mattr=+v -scalable-vectorization=off %s
; RUN: opt -passes='default<O3>' -mtriple=riscv64-unknown-linux-gnu -mattr=+v -instcombine-max-sink-users=0 %s
; RUN: opt -passes='default<O3>' -mtriple=riscv64-unknown-linux-gnu -mattr=+v -force-tail-folding-style=data-and-control %s
; RUN: opt -passes='function(loop-data-prefetch)' -mtriple=powerpc64le-unknown-linux-gnu -max-prefetch-iters-ahead=3 %s
; RUN: opt -passes='function(loop-data-prefetch)' -mtriple=powerpc64le-unknown-linux-gnu -min-prefetch-stride=3 %s
; RUN: opt -passes='function(loop-data-prefetch)' -mtriple=powerpc64le-unknown-linux-gnu -loop-prefetch-writes=true %s
; RUN: opt -passes='function(irce,loop(guard-widening,loop-predication,loop-reduce))' -mtriple=x86_64-unknown-linux-gnu -irce-loop-size-cutoff=1 %s
; RUN: opt -passes='function(irce,loop(guard-widening,loop-predication,loop-reduce))' -mtriple=x86_64-unknown-linux-gnu -irce-min-eliminated-checks=1000 %s
; RUN: opt -passes='function(irce,loop(guard-widening,loop-predication,loop-reduce))' -mtriple=x86_64-unknown-linux-gnu -disable-loop-idiom-wcslen=true %s
; RUN: opt -passes='function(irce,loop(guard-widening,loop-predication,loop-reduce))' -mtriple=x86_64-unknown-linux-gnu -disable-sparc-leaf-proc=true %s
; RUN: llc -mtriple=x86_64-unknown-linux-gnu -mcpu=skylake-avx512 -global-isel=true %s
; RUN: llc -mtriple=x86_64-unknown-linux-gnu -mcpu=skylake-avx512 -scalar-evolution-max-arith-depth=0 %s
; RUN: llc -mtriple=x86_64-unknown-linux-gnu -mcpu=skylake-avx512 -disable-spill-fusing=true %s
; RUN: llc -mtriple=x86_64-unknown-linux-gnu -mcpu=skylake-avx512 -enable-machine-outliner=always %s
; RUN: llc -mtriple=x86_64-unknown-linux-gnu -mcpu=skylake-avx512 -force-precise-rotation-cost=true %s
; RUN: llc -mtriple=x86_64-unknown-linux-gnu -mcpu=skylake-avx512 -misched-fusion=false %s
; RUN: llc -mtriple=x86_64-unknown-linux-gnu -mcpu=skylake-avx512 -scalar-evolution-max-arith-depth=0 -disable-spill-fusing=true -enable-machine-outliner=always %s
; RUN: llc -mtriple=x86_64-unknown-linux-gnu -mcpu=skylake-avx512 -ppc-global-merge=true %s
; RUN: llc -mtriple=aarch64-unknown-linux-gnu -mcpu=cortex-a53 -O3 -aarch64-a57-fp-load-balancing-override=1 %s
; RUN: llc -mtriple=aarch64-unknown-linux-gnu -mcpu=cortex-a53 -O3 -aarch64-enable-atomic-cfg-tidy=false %s
; RUN: llc -mtriple=aarch64-unknown-linux-gnu -mcpu=cortex-a53 -O3 -aarch64-enable-cond-br-tune=false %s
; RUN: llc -mtriple=aarch64-unknown-linux-gnu -mcpu=cortex-a53 -O3 -aarch64-enable-pipeliner=true %s
; RUN: llc -mtriple=aarch64-unknown-linux-gnu -mcpu=cortex-a53 -O3 -aarch64-enable-subreg-liveness-tracking=true %s
; RUN: llc -mtriple=aarch64-unknown-linux-gnu -mcpu=cortex-a53 -O3 -aarch64-stress-promote-const=true %s
; RUN: llc -mtriple=aarch64-unknown-linux-gnu -mcpu=cortex-a53 -O3 -aarch64-enable-subreg-liveness-tracking=true -aarch64-stress-promote-const=true -aarch64-enable-atomic-cfg-tidy=false %s
; RUN: llc -mtriple=powerpc64le-unknown-linux-gnu -disable-lsr %s
; RUN: llc -mtriple=powerpc64le-unknown-linux-gnu -disable-ppc-ctrloops %s
; RUN: llc -mtriple=hexagon-unknown-linux -disable-hexagon-hwloops %s

declare void @use(i32)

define void @saxpy(ptr noalias %out, ptr noalias %in, float %a, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %from = getelementptr float, ptr %in, i64 %i
  %x = load float, ptr %from
  %to = getelementptr float, ptr %out, i64 %i
  %y = load float, ptr %to
  %scaled = fmul float %x, %a
  %sum = fadd float %scaled, %y
  store float %sum, ptr %to
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}

define i32 @reduce_if(ptr %in, i64 %n, i32 %limit) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %join ]
  %sum = phi i32 [ 0, %entry ], [ %sum.next, %join ]
  %from = getelementptr i32, ptr %in, i64 %i
  %x = load i32, ptr %from
  %small = icmp slt i32 %x, %limit
  br i1 %small, label %then, label %join
then:
  %square = mul i32 %x, %x
  br label %join
join:
  %term = phi i32 [ %square, %then ], [ 1, %loop ]
  %sum.next = add i32 %sum, %term
  %next = add nuw nsw i64 %i, 1
  %more = icmp ne i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret i32 %sum.next
}

define void @store_if(ptr %a, ptr %b, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %join ]
  %from = getelementptr i32, ptr %b, i64 %i
  %x = load i32, ptr %from
  %positive = icmp sgt i32 %x, 7
  br i1 %positive, label %then, label %join
then:
  %to = getelementptr i32, ptr %a, i64 %i
  store i32 %x, ptr %to
  br label %join
join:
  %next = add nuw nsw i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}

define void @unswitch(ptr %out, i64 %n, i1 %flag, i32 %kind) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %join ]
  %to = getelementptr i32, ptr %out, i64 %i
  br i1 %flag, label %then, label %else
then:
  call void @use(i32 1)
  br label %join
else:
  %other = icmp eq i32 %kind, 3
  br i1 %other, label %third, label %join
third:
  call void @use(i32 3)
  br label %join
join:
  %value = phi i32 [ 1, %then ], [ 2, %else ], [ 3, %third ]
  store i32 %value, ptr %to
  %next = add nuw nsw i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}

define void @matrix(ptr noalias %c, ptr noalias %a, ptr noalias %b) {
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
  %sum = phi double [ 0.0, %columns ], [ %sum.next, %inner ]
  %pa = getelementptr [64 x double], ptr %a, i64 %i, i64 %k
  %x = load double, ptr %pa
  %pb = getelementptr [64 x double], ptr %b, i64 %k, i64 %j
  %y = load double, ptr %pb
  %xy = fmul fast double %x, %y
  %sum.next = fadd fast double %sum, %xy
  %k.next = add nuw nsw i64 %k, 1
  %k.more = icmp ult i64 %k.next, 64
  br i1 %k.more, label %inner, label %columns.end
columns.end:
  %pc = getelementptr [64 x double], ptr %c, i64 %i, i64 %j
  store double %sum.next, ptr %pc
  %j.next = add nuw nsw i64 %j, 1
  %j.more = icmp ult i64 %j.next, 64
  br i1 %j.more, label %columns, label %rows.end
rows.end:
  %i.next = add nuw nsw i64 %i, 1
  %i.more = icmp ult i64 %i.next, 64
  br i1 %i.more, label %rows, label %done
done:
  ret void
}

define void @strided(ptr noalias %out, ptr noalias %in, i64 %n, i64 %stride) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %at = mul i64 %i, %stride
  %from = getelementptr i32, ptr %in, i64 %at
  %x = load i32, ptr %from
  %pair = shl i64 %i, 1
  %to = getelementptr i32, ptr %out, i64 %pair
  store i32 %x, ptr %to
  %odd = or i64 %pair, 1
  %to.odd = getelementptr i32, ptr %out, i64 %odd
  store i32 7, ptr %to.odd
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}

define void @clear_and_copy(ptr noalias %a, ptr noalias %b, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %to = getelementptr i64, ptr %a, i64 %i
  store i64 0, ptr %to
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %copy
copy:
  %j = phi i64 [ 0, %loop ], [ %j.next, %copy ]
  %from = getelementptr i8, ptr %a, i64 %j
  %byte = load i8, ptr %from
  %copied = getelementptr i8, ptr %b, i64 %j
  store i8 %byte, ptr %copied
  %j.next = add nuw nsw i64 %j, 1
  %j.more = icmp slt i64 %j.next, %n
  br i1 %j.more, label %copy, label %done
done:
  ret void
}

define i64 @find(ptr %in, i32 %wanted) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %latch ]
  %from = getelementptr i32, ptr %in, i64 %i
  %x = load i32, ptr %from
  %found = icmp eq i32 %x, %wanted
  br i1 %found, label %done, label %latch
latch:
  %next = add nuw nsw i64 %i, 1
  %more = icmp ult i64 %next, 1000
  br i1 %more, label %loop, label %done
done:
  %result = phi i64 [ %i, %loop ], [ -1, %latch ]
  ret i64 %result
}

define void @recurrence(ptr noalias %out, ptr noalias %in, i64 %n) {
entry:
  %first = load i32, ptr %in
  br label %loop
loop:
  %i = phi i64 [ 1, %entry ], [ %next, %loop ]
  %before = phi i32 [ %first, %entry ], [ %x, %loop ]
  %from = getelementptr i32, ptr %in, i64 %i
  %x = load i32, ptr %from
  %sum = add i32 %x, %before
  %to = getelementptr i32, ptr %out, i64 %i
  store i32 %sum, ptr %to
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}

define void @may_alias(ptr %out, ptr %in, ptr %third, i32 %n) {
entry:
  %some = icmp sgt i32 %n, 0
  br i1 %some, label %loop, label %done
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %wide = sext i32 %i to i64
  %from = getelementptr i16, ptr %in, i64 %wide
  %x = load i16, ptr %from
  %more.from = getelementptr i16, ptr %third, i64 %wide
  %y = load i16, ptr %more.from
  %sum = add i16 %x, %y
  %to = getelementptr i16, ptr %out, i64 %wide
  store i16 %sum, ptr %to
  %next = add nsw i32 %i, 1
  %more = icmp slt i32 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
