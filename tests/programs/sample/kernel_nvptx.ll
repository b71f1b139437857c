; A kernel for nvptx64: shared memory, atomics, division, calls.
; RUN: llc -mcpu=sm_70 -nvptx-fma-level=1 %s
; RUN: llc -mcpu=sm_70 -nvptx-prec-divf32=1 %s
; RUN: llc -mcpu=sm_70 -nvptx-prec-sqrtf32=false %s

target triple = "nvptx64-nvidia-cuda"

@shared = internal addrspace(3) global [64 x float] undef

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare float @llvm.sqrt.f32(float)

define float @helper(ptr byval({ float, [3 x i32] }) %arguments, float %x) noinline {
  %a = load float, ptr %arguments
  %b = fdiv float %x, %a
  %c = call float @llvm.sqrt.f32(float %b)
  ret float %c
}

define ptx_kernel void @kernel(ptr noalias %out, ptr noalias %in, i32 %n, ptr byval({ float, [3 x i32] }) %arguments) {
entry:
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %inside = icmp slt i32 %id, %n
  br i1 %inside, label %then, label %done
then:
  %from = getelementptr float, ptr %in, i32 %id
  %x = load float, ptr %from
  %at = getelementptr [64 x float], ptr addrspace(3) @shared, i32 0, i32 %id
  store float %x, ptr addrspace(3) %at
  %y = call float @helper(ptr byval({ float, [3 x i32] }) %arguments, float %x)
  %m = fmul float %x, %y
  %s = fadd float %m, %x
  %to = getelementptr float, ptr %out, i32 %id
  store float %s, ptr %to
  %wide = load <4 x float>, ptr %in, align 16
  %e = extractelement <4 x float> %wide, i32 2
  %old = atomicrmw fadd ptr %out, float %e seq_cst
  br label %done
done:
  ret void
}

define i32 @divided(i32 %a, i32 %b) {
  %1 = sdiv i32 %a, %b
  %2 = srem i32 %a, %b
  %3 = add i32 %1, %2
  ret i32 %3
}
