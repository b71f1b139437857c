; Straight-line integer, floating-point and vector code.
; RUN: opt -passes='default<O3>' -mtriple=x86_64-unknown-linux-gnu -mcpu=haswell -disable-vector-combine=true %s
; RUN: opt -passes='default<O3>' -mtriple=x86_64-unknown-linux-gnu -mcpu=haswell -slp-max-reg-size=3 %s
; RUN: opt -passes='default<O3>' -mtriple=x86_64-unknown-linux-gnu -mcpu=haswell -slp-min-reg-size=1000 %s
; RUN: opt -passes='default<O3>' -mtriple=x86_64-unknown-linux-gnu -mcpu=haswell -disable-binop-extract-shuffle=true %s
; RUN: opt -passes='default<O3>' -mtriple=x86_64-unknown-linux-gnu -mcpu=haswell -slp-max-vf=3 %s
; RUN: opt -passes='default<O3>' -mtriple=x86_64-unknown-linux-gnu -mcpu=haswell -slp-schedule-budget=0 %s
; RUN: opt -passes='default<O3>' -mtriple=x86_64-unknown-linux-gnu -mcpu=haswell -slp-schedule-budget=0 -slp-min-reg-size=1000 %s
; RUN: llc -mtriple=x86_64-unknown-linux-gnu -x86-indirect-branch-tracking=true %s
; RUN: llc -mtriple=x86_64-unknown-linux-gnu -x86-seses-enable-without-lvi-cfi=true %s
; RUN: llc -mtriple=x86_64-unknown-linux-gnu -disable-branch-fold=true %s
; RUN: llc -mtriple=x86_64-unknown-linux-gnu -pre-RA-sched=list-burr %s
; RUN: llc -mtriple=x86_64-unknown-linux-gnu -align-all-nofallthru-blocks=3 %s
; RUN: llc -mtriple=x86_64-unknown-linux-gnu -misched-only-block=1 %s
; RUN: llc -mtriple=x86_64-unknown-linux-gnu -sched-avg-ipc=3 %s
; RUN: llc -mtriple=x86_64-unknown-linux-gnu -undef-reg-clearance=0 %s
; RUN: llc -mtriple=x86_64-unknown-linux-gnu -regalloc=fast %s
; RUN: llc -mtriple=x86_64-unknown-linux-gnu -tail-dup-placement=false %s
; RUN: llc -mtriple=x86_64-unknown-linux-gnu -partial-reg-update-clearance=1 %s
; RUN: llc -mtriple=x86_64-unknown-linux-gnu -align-all-functions=3 %s
; RUN: llc -mtriple=x86_64-unknown-linux-gnu -misched=ppc-postra %s
; RUN: llc -mtriple=x86_64-unknown-linux-gnu -enable-ext-tsp-block-placement=true %s
; RUN: llc -mtriple=x86_64-unknown-linux-gnu -x86-seses-enable-without-lvi-cfi=true -tail-dup-placement=false %s
; RUN: llc -mtriple=x86_64-unknown-linux-gnu -conditional-counter-update=true %s
; RUN: llc -mtriple=aarch64-unknown-linux-gnu -mcpu=cortex-a57 -aarch64-a57-fp-load-balancing-force-all=true %s
; RUN: llc -mtriple=aarch64-unknown-linux-gnu -mcpu=cortex-a57 -aarch64-enable-dead-defs=false %s
; RUN: llc -mtriple=aarch64-unknown-linux-gnu -mcpu=cortex-a57 -aarch64-enable-global-isel-at-O=3 %s
; RUN: llc -mtriple=aarch64-unknown-linux-gnu -mcpu=cortex-a57 -aarch64-enable-mcr=false %s
; RUN: llc -mtriple=aarch64-unknown-linux-gnu -mcpu=cortex-a57 -aarch64-mark-bti-property=true %s
; RUN: llc -mtriple=aarch64-unknown-linux-gnu -mcpu=cortex-a57 -aarch64-redzone=true %s
; RUN: llc -mtriple=aarch64-unknown-linux-gnu -mcpu=cortex-a57 -aarch64-update-scan-limit=0 %s
; RUN: llc -mtriple=aarch64-unknown-linux-gnu -mcpu=cortex-a57 -aarch64-mark-bti-property=true -aarch64-enable-global-isel-at-O=3 -aarch64-enable-dead-defs=false %s
; RUN: llc -mtriple=aarch64-unknown-linux-gnu -mcpu=cortex-a57 -commgep-inv=false %s
; RUN: llc -mtriple=riscv64-unknown-linux-gnu -mattr=+v,+m -riscv-disable-strip-w-suffix=true %s
; RUN: llc -mtriple=riscv64-unknown-linux-gnu -mattr=+v,+m -riscv-enable-machine-combiner=false %s
; RUN: llc -mtriple=riscv64-unknown-linux-gnu -mattr=+v,+m -riscv-lower-fp-repeated-divisors=0 %s
; RUN: llc -mtriple=riscv64-unknown-linux-gnu -mattr=+v,+m -riscv-lower-fpimm-cost=1 %s
; RUN: llc -mtriple=riscv64-unknown-linux-gnu -mattr=+v,+m -riscv-max-build-ints-cost=3 %s
; RUN: llc -mtriple=riscv64-unknown-linux-gnu -mattr=+v,+m -riscv-v-fixed-length-vector-lmul-max=1 %s
; RUN: llc -mtriple=riscv64-unknown-linux-gnu -mattr=+v,+m -riscv-v-vector-bits-min=0 %s
; RUN: llc -mtriple=riscv64-unknown-linux-gnu -mattr=+v,+m -riscv-disable-strip-w-suffix=true -riscv-lower-fp-repeated-divisors=0 %s
; RUN: llc -mtriple=powerpc64le-unknown-linux-gnu -mcpu=pwr9 -ppc-asm-full-reg-names %s
; RUN: llc -mtriple=powerpc64le-unknown-linux-gnu -mcpu=pwr9 -disable-ppc-cmp-opt -enable-misched=false %s
; RUN: llc -mtriple=armv7-unknown-linux-gnueabihf -mattr=+neon -regalloc=basic %s
; RUN: llc -mtriple=armv7-unknown-linux-gnueabihf -pre-RA-sched=list-burr %s
; RUN: llc -mtriple=s390x-unknown-linux-gnu -mcpu=z14 -enable-post-misched=false -join-liveintervals=false %s
; RUN: llc -mtriple=hexagon-unknown-linux -disable-packetizer %s

declare float @llvm.sqrt.f32(float)
declare float @llvm.fma.f32(float, float, float)
declare double @llvm.fabs.f64(double)
declare i32 @llvm.ctpop.i32(i32)
declare i32 @llvm.fshl.i32(i32, i32, i32)
declare i32 @llvm.smax.i32(i32, i32)
declare i32 @llvm.vector.reduce.add.v8i32(<8 x i32>)
declare <8 x i32> @llvm.masked.load.v8i32.p0(ptr, i32, <8 x i1>, <8 x i32>)
declare <4 x float> @llvm.masked.gather.v4f32.v4p0(<4 x ptr>, i32, <4 x i1>, <4 x float>)

define void @four_at_once(ptr noalias %out, ptr noalias %a, ptr noalias %b) {
  %a0 = load float, ptr %a
  %pa1 = getelementptr float, ptr %a, i64 1
  %a1 = load float, ptr %pa1
  %pa2 = getelementptr float, ptr %a, i64 2
  %a2 = load float, ptr %pa2
  %pa3 = getelementptr float, ptr %a, i64 3
  %a3 = load float, ptr %pa3
  %b0 = load float, ptr %b
  %pb1 = getelementptr float, ptr %b, i64 1
  %b1 = load float, ptr %pb1
  %pb2 = getelementptr float, ptr %b, i64 2
  %b2 = load float, ptr %pb2
  %pb3 = getelementptr float, ptr %b, i64 3
  %b3 = load float, ptr %pb3
  %s0 = fadd float %a0, %b0
  %s1 = fsub float %a1, %b1
  %s2 = fadd float %a2, %b2
  %s3 = fsub float %a3, %b3
  store float %s0, ptr %out
  %o1 = getelementptr float, ptr %out, i64 1
  store float %s1, ptr %o1
  %o2 = getelementptr float, ptr %out, i64 2
  store float %s2, ptr %o2
  %o3 = getelementptr float, ptr %out, i64 3
  store float %s3, ptr %o3
  ret void
}

define i32 @dot(ptr %a, ptr %b) {
  %a0 = load i32, ptr %a
  %pa1 = getelementptr i32, ptr %a, i64 1
  %a1 = load i32, ptr %pa1
  %pa2 = getelementptr i32, ptr %a, i64 2
  %a2 = load i32, ptr %pa2
  %pa3 = getelementptr i32, ptr %a, i64 3
  %a3 = load i32, ptr %pa3
  %b0 = load i32, ptr %b
  %pb1 = getelementptr i32, ptr %b, i64 1
  %b1 = load i32, ptr %pb1
  %pb2 = getelementptr i32, ptr %b, i64 2
  %b2 = load i32, ptr %pb2
  %pb3 = getelementptr i32, ptr %b, i64 3
  %b3 = load i32, ptr %pb3
  %m0 = mul i32 %a0, %b0
  %m1 = mul i32 %a1, %b1
  %m2 = mul i32 %a2, %b2
  %m3 = mul i32 %a3, %b3
  %s0 = add i32 %m0, %m1
  %s1 = add i32 %m2, %s0
  %s2 = add i32 %m3, %s1
  ret i32 %s2
}

define float @floats(float %a, float %b, float %c) {
  %1 = fdiv float %a, %b
  %2 = fmul contract float %1, %c
  %3 = fadd contract float %2, %a
  %4 = call float @llvm.sqrt.f32(float %3)
  %5 = fdiv arcp float 1.0, %4, !fpmath !0
  %6 = fdiv arcp float %c, %4
  %7 = fadd float %5, %6
  %8 = call float @llvm.fma.f32(float %7, float %a, float 2.0)
  ret float %8
}

define double @reassociated(double %a, double %b, double %c, double %d) {
  %1 = fmul fast double %a, %b
  %2 = fmul fast double %c, %a
  %3 = fadd fast double %1, %2
  %4 = fadd fast double %3, %d
  %5 = fdiv fast double %4, %b
  %6 = fdiv fast double %c, %b
  %7 = fdiv fast double %d, %b
  %8 = fadd fast double %5, %6
  %9 = fadd fast double %8, %7
  %10 = call double @llvm.fabs.f64(double %9)
  ret double %10
}

define i32 @integers(i32 %a, i32 %b, i32 %c) {
  %1 = mul i32 %a, 45
  %2 = add i32 %b, %1
  %3 = add i32 %2, %c
  %4 = sdiv i32 %3, 7
  %5 = srem i32 %4, %b
  %6 = call i32 @llvm.ctpop.i32(i32 %5)
  %7 = call i32 @llvm.fshl.i32(i32 %6, i32 %a, i32 5)
  %8 = and i32 %7, 65280
  %9 = lshr i32 %8, 8
  %10 = call i32 @llvm.smax.i32(i32 %9, i32 %c)
  %11 = add i32 %10, 305419896
  ret i32 %11
}

define i64 @expensive(i64 %a, i64 %b) {
  %1 = mul i64 %a, -3689348814741910323
  %2 = udiv i64 %1, %b
  %3 = urem i64 %1, %b
  %4 = xor i64 %2, %3
  %5 = mul i64 %4, 1000000007
  ret i64 %5
}

define i128 @wide(i128 %a, i128 %b) {
  %1 = mul i128 %a, %b
  %2 = add i128 %1, 77
  ret i128 %2
}

define <8 x i32> @vectors(<8 x i32> %a, <8 x i32> %b, i32 %x, ptr %p) {
  %1 = shufflevector <8 x i32> %a, <8 x i32> %b, <8 x i32> <i32 0, i32 8, i32 1, i32 9, i32 2, i32 10, i32 3, i32 11>
  %2 = mul <8 x i32> %1, %b
  %3 = insertelement <8 x i32> %2, i32 %x, i32 5
  %4 = icmp sgt <8 x i32> %3, %a
  %5 = select <8 x i1> %4, <8 x i32> %3, <8 x i32> %b
  %6 = call <8 x i32> @llvm.masked.load.v8i32.p0(ptr %p, i32 4, <8 x i1> %4, <8 x i32> zeroinitializer)
  %7 = add <8 x i32> %5, %6
  ret <8 x i32> %7
}

define i32 @sums(<8 x i32> %a, i32 %i) {
  %1 = call i32 @llvm.vector.reduce.add.v8i32(<8 x i32> %a)
  %2 = extractelement <8 x i32> %a, i32 %i
  %3 = sub i32 %1, %2
  ret i32 %3
}

define <4 x float> @gather(<4 x ptr> %at, <4 x i1> %mask) {
  %1 = call <4 x float> @llvm.masked.gather.v4f32.v4p0(<4 x ptr> %at, i32 4, <4 x i1> %mask, <4 x float> zeroinitializer)
  %2 = fmul <4 x float> %1, splat (float 3.0)
  ret <4 x float> %2
}

define i16 @half(half %h, i16 %s) {
  %1 = fadd half %h, 0xH3C00
  %2 = fptosi half %1 to i16
  %3 = mul i16 %2, %s
  ret i16 %3
}

!0 = !{float 2.5}
