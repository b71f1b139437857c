"""Modules that options change which LLVM can also read from attributes and flags."""

from __future__ import annotations

BRANCHES = """
define i32 @branches(ptr %table, i64 %i) {
  %inside = icmp ult i64 %i, 8
  br i1 %inside, label %take, label %leave
take:
  %at = getelementptr i32, ptr %table, i64 %i
  %found = load i32, ptr %at
  ret i32 %found
leave:
  ret i32 0
}
"""
STACK = """
declare void @use(ptr)
define i32 @callee() {
  %room = alloca [100 x i32]
  call void @use(ptr %room)
  ret i32 1
}
define i32 @caller() {
  %got = call i32 @callee()
  ret i32 %got
}
"""
ROOM = "".join(
    f"%at{i} = getelementptr [8 x i32], ptr addrspace(5) %room, i32 0, i32 {i}\n"
    f"store i32 {i * 7}, ptr addrspace(5) %at{i}\n"
    for i in range(8)
)
ALLOCA = f"""
define amdgpu_kernel void @room(ptr addrspace(1) %out, i32 %i) {{
  %room = alloca [8 x i32], addrspace(5)
  {ROOM}
  %at = getelementptr [8 x i32], ptr addrspace(5) %room, i32 0, i32 %i
  %got = load i32, ptr addrspace(5) %at
  store i32 %got, ptr addrspace(1) %out
  ret void
}}
"""
LOADS = "".join(
    f"""
  %from{i} = getelementptr <4 x i32>, ptr addrspace(1) %in, i32 {i * 3}
  %lane{i} = getelementptr i32, ptr addrspace(1) %from{i}, i32 %id
  %value{i} = load <4 x i32>, ptr addrspace(1) %lane{i}
  %square{i} = mul <4 x i32> %value{i}, %value{i}"""
    for i in range(8)
)
STORES = "".join(
    f"""
  %to{i} = getelementptr <4 x i32>, ptr addrspace(1) %lane0, i32 {i + 50}
  store <4 x i32> %square{i}, ptr addrspace(1) %to{i}"""
    for i in range(8)
)
KERNEL = f"""
define amdgpu_kernel void @squares(ptr addrspace(1) %in) {{
  %id = call i32 @llvm.amdgcn.workitem.id.x(){LOADS}{STORES}
  ret void
}}
declare i32 @llvm.amdgcn.workitem.id.x()
"""
