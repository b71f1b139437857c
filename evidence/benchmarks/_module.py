"""A module of realistic size, the same in every run: loops, calls, branches, floating point, memory."""

from __future__ import annotations

# Written as a C front end leaves it, with its variables in memory, so that every stage of -O3 has work.
_FUNCTIONS = """
; Sums of products, as the innermost loop of a filter.
define {type} @reduce{n}(ptr noalias %x, ptr noalias %y, i64 %n) {{
entry:
  %sum = alloca {type}
  %i = alloca i64
  store {type} {zero}, ptr %sum
  store i64 0, ptr %i
  br label %test
test:
  %at = load i64, ptr %i
  %more = icmp slt i64 %at, %n
  br i1 %more, label %body, label %done
body:
  %x.at = getelementptr inbounds {type}, ptr %x, i64 %at
  %y.at = getelementptr inbounds {type}, ptr %y, i64 %at
  %a = load {type}, ptr %x.at
  %b = load {type}, ptr %y.at
  %p = {mul} {type} %a, %b
  %old = load {type}, ptr %sum
  %new = {add} {type} %old, %p
  store {type} %new, ptr %sum
  %next = add nsw i64 %at, {step}
  store i64 %next, ptr %i
  br label %test
done:
  %result = load {type}, ptr %sum
  ret {type} %result
}}

; A small function to inline, with a switch.
define internal i32 @choose{n}(i32 %kind, i32 %v) {{
entry:
  switch i32 %kind, label %other [
    i32 0, label %double
    i32 1, label %square
    i32 2, label %shift
    i32 {n}, label %mask
  ]
double:
  %d = add i32 %v, %v
  ret i32 %d
square:
  %q = mul i32 %v, %v
  ret i32 %q
shift:
  %s = lshr i32 %v, {shift}
  ret i32 %s
mask:
  %m = and i32 %v, {mask}
  ret i32 %m
other:
  %o = sub i32 {mask}, %v
  ret i32 %o
}}

; Two nested loops with calls and data-dependent branches.
define i32 @walk{n}(ptr %cells, i32 %rows, i32 %columns) {{
entry:
  %best = alloca i32
  %r = alloca i32
  %c = alloca i32
  store i32 -1, ptr %best
  store i32 0, ptr %r
  br label %outer
outer:
  %row = load i32, ptr %r
  %rows.left = icmp slt i32 %row, %rows
  br i1 %rows.left, label %start, label %done
start:
  store i32 0, ptr %c
  br label %inner
inner:
  %column = load i32, ptr %c
  %columns.left = icmp slt i32 %column, %columns
  br i1 %columns.left, label %cell, label %outer.next
cell:
  %base = mul nsw i32 %row, %columns
  %index = add nsw i32 %base, %column
  %wide = sext i32 %index to i64
  %cell.at = getelementptr inbounds i32, ptr %cells, i64 %wide
  %value = load i32, ptr %cell.at
  %kind = srem i32 %value, {modulus}
  %chosen = call i32 @choose{n}(i32 %kind, i32 %value)
  %before = load i32, ptr %best
  %higher = icmp sgt i32 %chosen, %before
  br i1 %higher, label %take, label %keep
take:
  store i32 %chosen, ptr %best
  store i32 %chosen, ptr %cell.at
  br label %inner.next
keep:
  %odd = and i32 %chosen, 1
  %is.odd = icmp ne i32 %odd, 0
  br i1 %is.odd, label %clear, label %inner.next
clear:
  store i32 {n}, ptr %cell.at
  br label %inner.next
inner.next:
  %column.next = add nsw i32 %column, 1
  store i32 %column.next, ptr %c
  br label %inner
outer.next:
  %row.next = add nsw i32 %row, 1
  store i32 %row.next, ptr %r
  br label %outer
done:
  %result = load i32, ptr %best
  ret i32 %result
}}

; Straight-line arithmetic on a structure.
define void @step{n}(ptr %body, double %dt) {{
entry:
  %x.at = getelementptr inbounds %body, ptr %body, i32 0, i32 0
  %y.at = getelementptr inbounds %body, ptr %body, i32 0, i32 1
  %z.at = getelementptr inbounds %body, ptr %body, i32 0, i32 2
  %m.at = getelementptr inbounds %body, ptr %body, i32 0, i32 3
  %x = load double, ptr %x.at
  %y = load double, ptr %y.at
  %z = load double, ptr %z.at
  %m = load double, ptr %m.at
  %xx = fmul double %x, %x
  %yy = fmul double %y, %y
  %zz = fmul double %z, %z
  %xy = fadd double %xx, %yy
  %square = fadd double %xy, %zz
  %norm = call double @llvm.sqrt.f64(double %square)
  %far = fcmp ogt double %norm, {limit}
  br i1 %far, label %scale, label %done
scale:
  %k = fdiv double %dt, %norm
  %km = fmul double %k, %m
  %x.new = call double @llvm.fma.f64(double %km, double %x, double %x)
  %y.new = call double @llvm.fma.f64(double %km, double %y, double %y)
  %z.new = call double @llvm.fma.f64(double %km, double %z, double %z)
  store double %x.new, ptr %x.at
  store double %y.new, ptr %y.at
  store double %z.new, ptr %z.at
  br label %done
done:
  ret void
}}
"""

_HEAD = """%body = type { double, double, double, double }
declare double @llvm.sqrt.f64(double)
declare double @llvm.fma.f64(double, double, double)
"""

_ARITHMETIC = (
    ("float", "0.0", "fmul contract", "fadd contract"),
    ("double", "0.0", "fmul fast", "fadd fast"),
    ("i32", "0", "mul", "add"),
    ("i64", "0", "mul", "xor"),
)


def module_text(copies: int = 18) -> str:
    """LLVM IR of about 160 lines for each copy; copies differ in types, constants and steps."""
    return _HEAD + "".join(_copy(n) for n in range(copies))


def _copy(n: int) -> str:
    type_, zero, mul, add = _ARITHMETIC[n % len(_ARITHMETIC)]
    return _FUNCTIONS.format(
        n=n + 3,
        type=type_,
        zero=zero,
        mul=mul,
        add=add,
        step=1 + n % 3,
        shift=1 + n % 7,
        mask=(1 << (3 + n % 9)) - 1,
        modulus=3 + n % 5,
        limit=f"{n + 1}.5",
    )
