"""Draws modules of LLVM IR from a small grammar of deterministic programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from hypothesis import strategies as st

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

CELLS = 64  # number of i64 that every function's pointer points at; also the most rounds of a loop
_SHIFTS = ("shl", "lshr", "ashr")
_DIVISIONS = ("udiv", "urem")
_INTRINSICS = ("umax", "smin")
# The simplest first. They are defined for the operands that `_Writer` gives them.
_OPERATIONS = ("add", "sub", "and", "or", "xor", "mul", "shl", "lshr", "ashr", "udiv", "urem", "umax", "smin")
_NEAR = 7  # how far back an operand may refer among the values so far

# A statement's name, then its operands, bodies and number of rounds. A branch takes its first body if its
# first operand is less than its second; its value, as that of a loop, is the last one of the body that ran.
Statement: TypeAlias = tuple[Any, ...]
# Whether it is a constant; the number itself, or how many values ago it was computed.
Operand: TypeAlias = tuple[bool, int]


def modules(*, max_functions: int = 2, max_statements: int = 6, max_depth: int = 2) -> SearchStrategy[str]:
    """Draw modules of integer arithmetic, loads, stores, branches, loops and calls.

    The last function is `i64 @kernel(i64, i64, ptr)`, whose pointer is to 64 i64. It has no undefined
    behaviour and every loop ends, so all compilations of it give the same result and leave the same memory.
    Shrinks towards one function that returns its first argument.

    Args:
        max_functions: The most functions. Each calls the one before it.
        max_statements: The most statements in a function, and half as many on each level of nesting.
        max_depth: The most levels of nested loops and branches.
    """
    function = st.lists(_statements(max_depth, max_statements), max_size=max_statements)
    return st.lists(function, min_size=1, max_size=max_functions).map(_render)


def _statements(depth: int, most: int) -> SearchStrategy[Statement]:
    operand = st.tuples(st.booleans(), st.integers(0, _NEAR))
    simple = [
        st.tuples(st.sampled_from(_OPERATIONS), operand, operand),
        st.tuples(st.just("load"), operand),
        st.tuples(st.just("store"), operand, operand),
    ]
    if depth == 0:
        return st.one_of(*simple)
    inside = max(1, most // 2)  # with as many on every level, most programs would be large
    inner = st.lists(_statements(depth - 1, inside), max_size=inside)
    branch = st.tuples(st.just("branch"), operand, operand, inner, inner)
    return st.one_of(*simple, branch, st.tuples(st.just("loop"), st.integers(1, CELLS), inner))


def _render(functions: Sequence[Sequence[Statement]]) -> str:
    """Write the module. Its last function is called "kernel", and each function calls the one before it."""
    texts = []
    before = ""
    for number, body in enumerate(functions):
        name = "kernel" if number == len(functions) - 1 else f"helper{number}"
        texts.append(_Writer(before).function(name, body))
        before = name
    called = [name for name in _INTRINSICS if any(f"@llvm.{name}." in text for text in texts)]
    return "\n".join([*texts, *(f"declare i64 @llvm.{name}.i64(i64, i64)\n" for name in called)])


@dataclass
class _Writer:
    """Writes one function. `callee`: the function that it calls first, or an empty string."""

    callee: str
    lines: list[str] = field(default_factory=list)
    block: str = "entry"  # label of the current block
    used: int = 0

    def function(self, name: str, body: Sequence[Statement]) -> str:
        values = ["%b", "%a"]
        if self.callee:
            values.append(self._line(f"call i64 @{self.callee}(i64 %a, i64 %b, ptr %memory)"))
        self._body(body, values)
        head = f"define i64 @{name}(i64 %a, i64 %b, ptr %memory) {{\nentry:\n"
        return head + "".join(self.lines) + f"  ret i64 {values[-1]}\n}}\n"

    def _body(self, body: Sequence[Statement], values: list[str]) -> None:
        """Write the statements, and append the values they compute to `values`."""
        for statement in body:
            match statement:
                case "load", cell:
                    values.append(self._line(f"load i64, ptr {self._cell(cell, values)}"))
                case "store", cell, value:
                    address = self._cell(cell, values)
                    self.lines.append(f"  store i64 {_value(value, values)}, ptr {address}\n")
                case "branch", left, right, then, other:
                    values.append(self._branch(left, right, (then, other), values))
                case "loop", rounds, inner:
                    values.append(self._loop(rounds, inner, values))
                case operation, left, right:
                    values.append(self._expression(operation, _value(left, values), _value(right, values)))

    def _expression(self, operation: str, left: str, right: str) -> str:
        if operation in _INTRINSICS:
            return self._line(f"call i64 @llvm.{operation}.i64(i64 {left}, i64 {right})")
        if operation in _SHIFTS:
            right = self._line(f"and i64 {right}, 63")
        elif operation in _DIVISIONS:
            right = self._line(f"or i64 {right}, 1")
        return self._line(f"{operation} i64 {left}, {right}")

    def _cell(self, cell: Operand, values: list[str]) -> str:
        index = self._line(f"and i64 {_value(cell, values)}, {CELLS - 1}")
        return self._line(f"getelementptr inbounds i64, ptr %memory, i64 {index}")

    def _branch(
        self, left: Operand, right: Operand, bodies: Sequence[Sequence[Statement]], values: list[str]
    ) -> str:
        number = self._number()
        less = self._line(f"icmp slt i64 {_value(left, values)}, {_value(right, values)}")
        self.lines.append(f"  br i1 {less}, label %then{number}, label %other{number}\n")
        ends = []
        for label, body in zip(("then", "other"), bodies, strict=True):
            self._begin(f"{label}{number}")
            own = list(values)
            self._body(body, own)
            ends.append(f"[ {own[-1]}, %{self.block} ]")
            self.lines.append(f"  br label %join{number}\n")
        self._begin(f"join{number}")
        return self._line(f"phi i64 {', '.join(ends)}")

    def _loop(self, rounds: int, body: Sequence[Statement], values: list[str]) -> str:
        number = self._number()
        index, last = f"%i{number}", f"%last{number}"
        before = self.block
        self.lines.append(f"  br label %loop{number}\n")
        self._begin(f"loop{number}")
        at = len(self.lines)
        own = [*values, last, index]
        self._body(body, own)
        follows = self._line(f"add nuw nsw i64 {index}, 1")
        more = self._line(f"icmp ult i64 {follows}, {rounds}")
        self.lines.append(f"  br i1 {more}, label %loop{number}, label %done{number}\n")
        self.lines.insert(at, f"  {index} = phi i64 [ 0, %{before} ], [ {follows}, %{self.block} ]\n")
        self.lines.insert(
            at, f"  {last} = phi i64 [ {values[-1]}, %{before} ], [ {own[-1]}, %{self.block} ]\n"
        )
        self._begin(f"done{number}")
        return own[-1]

    def _begin(self, label: str) -> None:
        self.lines.append(f"{label}:\n")
        self.block = label

    def _line(self, text: str) -> str:
        """Write an instruction. Returns the name of its result."""
        name = f"%v{self._number()}"
        self.lines.append(f"  {name} = {text}\n")
        return name

    def _number(self) -> int:
        self.used += 1
        return self.used


def _value(operand: Operand, values: Sequence[str]) -> str:
    constant, number = operand
    return str(number) if constant else values[-1 - number % len(values)]
