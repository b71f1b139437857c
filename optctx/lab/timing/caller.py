"""The code that calls an entry point many times and reads the clocks: no Python runs in between.

It is LLVM IR, made for the harness's arguments and compiled by LLVM as it is. Nothing here knows how a
processor passes arguments.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from optctx.compiling import FreshProcess, Job
from optctx.errors import OptctxError
from optctx.lab.objects import load
from optctx.lab.timing.harness import KINDS, Array, Harness

# clockid_t of <time.h>: the time that the process ran, and the time that went by.
_CLOCKS = {"cpu": 2, "wall": 1}
TIMES = 8  # words of the record that a call fills: two pairs of clocks
_STACK = 1 << 16  # bytes below the caller that are spoilt
# (function, arguments, result, calls, times, byte to spoil the stack with)
Caller = Callable[[int, Any, Any, int, Any, int], None]

_IR = """
declare i32 @clock_gettime(i32, ptr)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

define internal void @spoil(i8 %byte) noinline optnone {{
  %room = alloca [{stack} x i8]
  call void @llvm.memset.p0.i64(ptr %room, i8 %byte, i64 {stack}, i1 true)
  ret void
}}

define void @optctx_calls(ptr %function, ptr %arguments, ptr %result, i64 %calls, ptr %times, i8 %byte) {{
entry:
{loads}
  %after = getelementptr i8, ptr %times, i64 16
  %wall = getelementptr i8, ptr %times, i64 32
  %wall.after = getelementptr i8, ptr %times, i64 48
  call void @spoil(i8 %byte)
  %1 = call i32 @clock_gettime(i32 {wall}, ptr %wall)
  %2 = call i32 @clock_gettime(i32 {cpu}, ptr %times)
  br label %loop
loop:
  %done = phi i64 [ 0, %entry ], [ %next, %loop ]
  {assign}call {returns} %function({passed})
{store}
  %next = add i64 %done, 1
  %more = icmp ult i64 %next, %calls
  br i1 %more, label %loop, label %end
end:
  %3 = call i32 @clock_gettime(i32 {cpu}, ptr %after)
  %4 = call i32 @clock_gettime(i32 {wall}, ptr %wall.after)
  ret void
}}
"""


def _caller_ir(harness: Harness) -> str:
    """The module that calls entry points of this form."""
    loads, passed = [], []
    for place, argument in enumerate(harness.arguments):
        kind = None if isinstance(argument, Array) else KINDS[argument.type]
        ir = "ptr" if kind is None else kind.ir
        loads.append(f"  %p{place} = getelementptr i64, ptr %arguments, i64 {place}")
        loads.append(f"  %a{place} = load {ir}, ptr %p{place}")
        passed.append(f"{ir} {'' if kind is None else kind.extension} %a{place}")
    returns, assign, store = "void", "", ""
    if harness.returns is not None:
        kind = KINDS[harness.returns]
        returns = kind.ir  # an attribute would promise what the bits above the type are
        assign = "%r = "
        store = f"  store {kind.ir} %r, ptr %result"
    return _IR.format(
        stack=_STACK,
        loads="\n".join(loads),
        passed=", ".join(passed),
        returns=returns,
        assign=assign,
        store=store,
        **_CLOCKS,
    )


def compile_caller(harness: Harness) -> bytes:
    """The object of that module, compiled in a fresh process. Raises OptctxError if LLVM does not make it."""
    with FreshProcess() as fresh:
        result = fresh.compile(Job(_caller_ir(harness), "verify"))
    if result.error is not None:
        raise OptctxError(f"LLVM could not make the code that calls: {result.error}")
    return result.code


def load_caller(code: bytes) -> Caller:
    """The caller as a function of this process."""
    pointer = ctypes.c_void_p
    form = ctypes.CFUNCTYPE(None, pointer, pointer, pointer, ctypes.c_uint64, pointer, ctypes.c_uint8)
    return form(load(code).address("optctx_calls"))
