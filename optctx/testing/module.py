"""Draws modules of LLVM IR from a small grammar of deterministic programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from hypothesis import strategies as st

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

CELLS = 64  # number of i64 that every function's pointer points at; also the most rounds of a loop
_FUNCTIONS, _STATEMENTS, _DEPTH = 2, 6, 2  # at most; statements of a function, and levels of nesting
_NEAR = 7  # how far back an operand may refer among the values so far
# The simplest first; and what makes the second operand one for which an operation is defined.
_OPERATIONS = ("add", "sub", "and", "or", "xor", "mul", "shl", "lshr", "ashr", "udiv", "urem")
_DEFINED = dict.fromkeys(("shl", "lshr", "ashr"), "and i64 {}, 63") | dict.fromkeys(
    ("udiv", "urem"), "or i64 {}, 1"
)

# The name of a `_Writer`'s method, and its operands, bodies and number of rounds.
Statement: TypeAlias = tuple[Any, ...]
# Whether it is a constant; the number itself, or how many values ago it was computed.
Operand: TypeAlias = tuple[bool, int]


def modules() -> SearchStrategy[str]:
    """Draw modules of integer arithmetic, loads, stores, branches, loops and calls.

    The last function is `i64 @kernel(i64, i64, ptr)`, whose pointer is to 64 i64. It has no undefined
    behaviour and every loop ends, so all compilations of it give the same result and leave the same memory.
    Shrinks towards one function that returns its first argument.
    """
    function = st.lists(_statements(_DEPTH, _STATEMENTS), max_size=_STATEMENTS)
    return st.lists(function, min_size=1, max_size=_FUNCTIONS).map(_render)


def _statements(depth: int, most: int) -> SearchStrategy[Statement]:
    operand = st.tuples(st.booleans(), st.integers(0, _NEAR))
    found: list[SearchStrategy[Statement]] = [
        st.tuples(st.just("compute"), st.sampled_from(_OPERATIONS), operand, operand),
        st.tuples(st.just("load"), operand),
        st.tuples(st.just("store"), operand, operand),
    ]
    if depth:
        # With as many on every level, most programs would be large.
        inner = st.lists(_statements(depth - 1, most // 2), max_size=most // 2)
        found.append(st.tuples(st.just("branch"), operand, operand, inner, inner))
        found.append(st.tuples(st.just("loop"), st.integers(1, CELLS), inner))
    return st.one_of(found)


def _render(functions: Sequence[Sequence[Statement]]) -> str:
    """Write the module. Its last function is called "kernel", and each function calls the one before it."""
    names = [f"helper{number}" for number in range(len(functions) - 1)] + ["kernel"]
    callees = ["", *names]
    return "\n".join(
        _Writer().function(name, callee, body)
        for name, callee, body in zip(names, callees, functions, strict=False)
    )


@dataclass
class _Writer:
    """Writes one function. Each kind of statement is a method, and returns the value that it computes."""

    lines: list[str] = field(default_factory=list)
    block: str = "entry"  # label of the current block
    used: int = 0

    def function(self, name: str, callee: str, body: Sequence[Statement]) -> str:
        values = ["%b", "%a"]
        if callee:
            values.append(self._line(f"call i64 @{callee}(i64 %a, i64 %b, ptr %memory)"))
        result = self._last(body, values)
        head = f"define i64 @{name}(i64 %a, i64 %b, ptr %memory) {{\nentry:\n"
        return head + "".join(self.lines) + f"  ret i64 {result}\n}}\n"

    def _last(self, body: Sequence[Statement], values: Sequence[str]) -> str:
        """Write the statements. Return the last value that there is then, with those before."""
        own = list(values)
        for kind, *parts in body:
            own.append(getattr(self, kind)(own, *parts))
        return own[-1]

    def compute(self, values: Sequence[str], operation: str, left: Operand, right: Operand) -> str:
        second = _value(right, values)
        if operation in _DEFINED:
            second = self._line(_DEFINED[operation].format(second))
        return self._line(f"{operation} i64 {_value(left, values)}, {second}")

    def load(self, values: Sequence[str], cell: Operand) -> str:
        return self._line(f"load i64, ptr {self._cell(cell, values)}")

    def store(self, values: Sequence[str], cell: Operand, value: Operand) -> str:
        stored = _value(value, values)
        self.lines.append(f"  store i64 {stored}, ptr {self._cell(cell, values)}\n")
        return values[-1]

    def branch(
        self, values: Sequence[str], left: Operand, right: Operand, *bodies: Sequence[Statement]
    ) -> str:
        """Take the first body if the first operand is less. Return the last value of the one that ran."""
        number = self._number()
        less = self._line(f"icmp slt i64 {_value(left, values)}, {_value(right, values)}")
        self.lines.append(f"  br i1 {less}, label %then{number}, label %other{number}\n")
        ends = []
        for label, body in zip(("then", "other"), bodies, strict=True):
            self._begin(f"{label}{number}")
            ends.append(f"[ {self._last(body, values)}, %{self.block} ]")
            self.lines.append(f"  br label %join{number}\n")
        self._begin(f"join{number}")
        return self._line(f"phi i64 {', '.join(ends)}")

    def loop(self, values: Sequence[str], rounds: int, body: Sequence[Statement]) -> str:
        number, before = self._number(), self.block
        index, last = f"%i{number}", f"%last{number}"
        self.lines.append(f"  br label %loop{number}\n")
        self._begin(f"loop{number}")
        at = len(self.lines)
        end = self._last(body, [*values, last, index])
        follows = self._line(f"add nuw nsw i64 {index}, 1")
        more = self._line(f"icmp ult i64 {follows}, {rounds}")
        self.lines.append(f"  br i1 {more}, label %loop{number}, label %done{number}\n")
        self.lines[at:at] = [
            f"  {name} = phi i64 [ {first}, %{before} ], [ {then}, %{self.block} ]\n"
            for name, first, then in ((last, values[-1], end), (index, "0", follows))
        ]
        self._begin(f"done{number}")
        return end

    def _cell(self, cell: Operand, values: Sequence[str]) -> str:
        index = self._line(f"and i64 {_value(cell, values)}, {CELLS - 1}")
        return self._line(f"getelementptr inbounds i64, ptr %memory, i64 {index}")

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
