; A kernel for amdgcn: work items, local and private memory, uniform and divergent branches.
; RUN: llc -mcpu=gfx900 -amdgpu-assume-external-call-stack-size=3 %s
; RUN: llc -mcpu=gfx900 -amdgpu-codegenprepare-force-break-large-phis=true %s
; RUN: llc -mcpu=gfx900 -amdgpu-dce-in-ra=false %s
; RUN: llc -mcpu=gfx900 -amdgpu-function-calls=false %s
; RUN: llc -mcpu=gfx900 -amdgpu-promote-alloca-to-vector-limit=3 %s
; RUN: llc -mcpu=gfx900 -amdgpu-promote-alloca-to-vector-max-regs=1 %s
; RUN: llc -mcpu=gfx900 -amdgpu-scalar-ir-passes=false %s
; RUN: llc -mcpu=gfx900 -amdgpu-use-amdgpu-trackers=true %s
; RUN: llc -mcpu=gfx900 -amdgpu-use-divergent-register-indexing=true %s
; RUN: llc -mcpu=gfx900 -amdgpu-waitcnt-load-forcezero=true %s
; RUN: llc -mcpu=gfx900 -amdgpu-promote-alloca-to-vector-max-regs=1 -amdgpu-codegenprepare-force-break-large-phis=true %s
; RUN: llc -mcpu=gfx900 -combiner-shrink-load-replace-store-with-store=false %s
; RUN: llc -mcpu=gfx1100 -amdgpu-codegenprepare-disable-fdiv-expansion=true %s
; RUN: llc -mcpu=gfx1100 -amdgpu-codegenprepare-disable-idiv-expansion=true %s
; RUN: llc -mcpu=gfx1100 -amdgpu-enable-delay-alu=false %s
; RUN: llc -mcpu=gfx1100 -amdgpu-enable-vopd=false %s
; RUN: llc -mcpu=gfx1100 -amdgpu-hard-clause-length-limit=1 %s
; RUN: llc -mcpu=gfx1100 -amdgpu-promote-alloca-to-vector-vgpr-ratio=1000 %s
; RUN: llc -mcpu=gfx1100 -amdgpu-snop-padding=3 %s
; RUN: llc -mcpu=gfx1100 -amdgpu-use-aa-in-codegen=false %s
; RUN: llc -mcpu=gfx1100 -amdgpu-waitcnt-forcezero=true %s
; RUN: llc -mcpu=gfx1100 -amdgpu-codegenprepare-disable-fdiv-expansion=true -amdgpu-use-aa-in-codegen=false %s

target triple = "amdgcn-amd-amdhsa"

@local = internal addrspace(3) global [64 x float] poison
@other = internal addrspace(3) global [16 x i32] poison

declare i32 @llvm.amdgcn.workitem.id.x()
declare void @llvm.amdgcn.s.barrier()
declare void @llvm.memcpy.p1.p1.i64(ptr addrspace(1), ptr addrspace(1), i64, i1)

define internal float @helper(float %x, i32 %n) {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %v = phi float [ %x, %entry ], [ %w, %loop ]
  %w = fmul float %v, %x
  %next = add i32 %i, 1
  %more = icmp slt i32 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret float %w
}

define amdgpu_kernel void @kernel(ptr addrspace(1) noalias %out, ptr addrspace(1) noalias %in, i32 %n, float %f) {
entry:
  %private = alloca [8 x i32], align 4, addrspace(5)
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %from = getelementptr <4 x float>, ptr addrspace(1) %in, i32 %id
  %x = load <4 x float>, ptr addrspace(1) %from
  %e = extractelement <4 x float> %x, i32 1
  %slot = and i32 %id, 63
  %shared = getelementptr [64 x float], ptr addrspace(3) @local, i32 0, i32 %slot
  store float %e, ptr addrspace(3) %shared
  call void @llvm.amdgcn.s.barrier()
  %divergent = icmp ult i32 %id, %n
  br i1 %divergent, label %then, label %join
then:
  %at = getelementptr [8 x i32], ptr addrspace(5) %private, i32 0, i32 %n
  store i32 %id, ptr addrspace(5) %at
  %h = call float @helper(float %e, i32 %n)
  %q = fdiv float %h, %f, !fpmath !0
  br label %join
join:
  %v = phi float [ %f, %entry ], [ %q, %then ]
  %first = getelementptr [8 x i32], ptr addrspace(5) %private, i32 0, i32 2
  %p = load i32, ptr addrspace(5) %first
  %pf = sitofp i32 %p to float
  %s = fadd float %v, %pf
  %o = getelementptr [16 x i32], ptr addrspace(3) @other, i32 0, i32 3
  store i32 %p, ptr addrspace(3) %o
  %to = getelementptr float, ptr addrspace(1) %out, i32 %id
  store float %s, ptr addrspace(1) %to
  %next = getelementptr i8, ptr addrspace(1) %to, i64 4
  store float %e, ptr addrspace(1) %next
  call void @llvm.memcpy.p1.p1.i64(ptr addrspace(1) %out, ptr addrspace(1) %in, i64 64, i1 false)
  ret void
}

define i32 @callable(i32 %a, i32 %b, ptr %flat) {
  %1 = udiv i32 %a, %b
  %2 = urem i32 %a, %b
  %3 = load i32, ptr %flat
  %4 = mul i32 %1, %2
  %5 = add i32 %3, %4
  %6 = atomicrmw add ptr %flat, i32 %5 syncscope("agent") monotonic
  ret i32 %6
}

!0 = !{float 2.5}
