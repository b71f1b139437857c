"""Kernels in LLVM IR that the tests of timing compile, right ones and hostile ones."""

from __future__ import annotations

import pathlib
from functools import cache

from optctx.compiling import Job
from optctx.lab.timing import Kernel, find_kernel, harness_of
from tests.support.scopes import scoped


def loop(body: str, before: str = "", declared: str = "", name: str = "total") -> str:
    """A sum over the elements of an i32 array; `body` makes %v of the element %e, `before` runs first."""
    return f"""
{declared}
define i32 @{name}(ptr %a, i64 %n) {{
entry:
  {before}
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %s = phi i32 [ 0, %entry ], [ %sum, %loop ]
  %p = getelementptr i32, ptr %a, i64 %i
  %e = load i32, ptr %p
  {body}
  %sum = add i32 %s, %v
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %end
end:
  ret i32 %sum
}}
"""


SUM = loop("%v = add i32 %e, 0")

TOTAL = """
from array import array

def arguments():
    return array("i", range(-50, LENGTH - 50)), LENGTH
"""
AT_ONCE = "seconds = 1e-3\n"  # for a test in which no figure counts


def kernel_of(folder: pathlib.Path, ir: str, text: str) -> Kernel:
    """The only function of a module, with a harness of this text."""
    file = folder / "a_harness.py"
    file.write_text(text)
    return find_kernel(Job(ir), harness_of(str(file)), "a.ll")


def sum_kernel(folder: pathlib.Path, length: int = 2048, more: str = "") -> Kernel:
    return kernel_of(folder, SUM, TOTAL.replace("LENGTH", str(length)) + more)


@cache
def compiled(ir: str, *options: str, passes: str = "default<O3>") -> bytes:
    """The object under these options ("-unroll-count=4"), by threads in this process."""
    result = scoped(Job(ir, passes, options))
    assert result.error is None, result.error
    return result.code
