"""What each thread of a program sees, in plain Python: neither LLVM nor optctx is asked.

A thread has a stack of frames. A frame has the values of its context, which nothing changes. `current()`
shows those and what was set inside; LLVM shows these and what it wrote itself. Both end with the frame.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Final, NamedTuple, TypeAlias

from tests.promises.program import Context, Options, Program, Step

Given: TypeAlias = Mapping[str, str]  # option -> text; an option that is not here was not given
Key: TypeAlias = Options  # what decides about the output of a compilation

# Option -> text on a command line -> value in Python. Of several types and storages.
CHOICES: Final[dict[str, dict[str, Any]]] = {
    "unroll-count": {"2": 2, "4": 4},
    "x86-asm-syntax": {"intel": "intel"},
    "min-jump-table-entries": {str(2**32 - 1): 2**32 - 1},
    "force-attribute": {"count:cold": ["count:cold"]},
    "inline-threshold": {"7": 7, "-3": -3},
    "asan-memory-access-callback-prefix": {"p": "p", "q": "q"},
    "force-vector-width": {"2": 2},
    "chr-bias-threshold": {"0.25": 0.25},
}
GROWS: Final = "force-attribute"  # a list: LLVM's setter adds to what it was given before in the same scope
WRITES: Final = "min-jump-table-entries"  # what LLVM itself writes, to this:
WRITTEN: Final = str(2**32 - 1)
# Options whose effect is in the output of every compilation here.
SHOWN: Final = (
    "force-attribute",
    "min-jump-table-entries",
    "unroll-count",
    "x86-asm-syntax",
)


def key_of(given: Given) -> Key:
    return tuple((name, given[name]) for name in SHOWN if name in given)


def every_key() -> list[Key]:
    """All that a program can ask for."""
    pairs = [[None, *((name, text) for text in CHOICES[name])] for name in SHOWN]
    return [tuple(filter(None, combination)) for combination in product(*pairs)]


class Sight(NamedTuple):
    """What one look must see: the key of LLVM's output, and the values of `current()`.

    `llvm`: None where the compilation is refused, outside every scope.
    `depth`: how many scopes the thread is inside of.
    """

    llvm: Key | None
    current: Options
    depth: int


class Wanted(NamedTuple):
    """What a step must give: sights in their order, and whether it is refused with a ScopeError."""

    sights: tuple[Sight, ...] = ()
    refused: bool = False


@dataclass
class Frame:
    """One entry of one thread into a context.

    `shown`: what LLVM sees.
    `of_task`: contextvars carry it to other threads. They do not carry what C++ has entered.
    `runs`: whether a compilation may run; not outside every scope, where the program says so.
    """

    values: Given
    current: Given
    shown: dict[str, str]
    of_task: bool = True
    runs: bool = True


class Model:
    """The state of a program between steps."""

    def __init__(self, program: Program, threads: int) -> None:
        self.process: dict[str, str] = dict(program.drift)
        self.outside: Given = {} if program.outside == "defaults" else self.process  # what is seen there
        self.forbids = program.outside == "error"
        self.stacks: list[list[Frame]] = [[] for _ in range(threads)]
        self.contexts: list[Frame] = []
        for context in program.contexts:
            self.contexts.append(self._made(context))

    def _made(self, context: Context) -> Frame:
        bases: dict[str, Given] = {"inherit": self.outside, "defaults": {}}
        base = bases.get(str(context.base))
        if isinstance(context.base, int):
            base = dict(self.contexts[context.base].values)
        return self._entered({**(base or {}), **dict(context.options)})

    # What the generator of programs asks

    def depth(self, thread: int) -> int:
        return len(self.stacks[thread])

    def inside(self) -> int:
        """Scopes that are entered now, on all threads."""
        return sum(map(len, self.stacks))

    def beside(self) -> Sight:
        """What a thread sees that enters no scope."""
        return self._alone(self._outside())

    # Steps

    def take(self, thread: int, step: Step) -> Wanted:
        """Change the state as the step does. Returns what it must give."""
        refused = step.action == "detach" and self.inside() > 0
        self._change(thread, step)
        return Wanted(tuple(self._sights(thread, step)), refused)

    def _change(self, thread: int, step: Step) -> None:
        stack = self.stacks[thread]
        if step.action == "enter":
            stack.append(self._entered(self.contexts[step.context].values))
        elif step.action == "nest":
            stack.append(replace(self._nested(thread, step.options), of_task=step.way != "C++"))
        elif step.action == "leave":
            stack.pop()
        elif step.action == "die":
            stack.clear()
        elif step.action == "set":
            self._set(stack[-1], dict(step.options))
        elif step.action == "detach" and not self.inside():
            self.outside, self.forbids = self.process, False
        elif step.action == "drift":
            self.process.update(step.options)
        elif step.action == "write":
            stack[-1].shown[WRITES] = WRITTEN

    def _sights(self, thread: int, step: Step) -> list[Sight]:
        here = self._sight(thread, self._top(thread))
        if step.action in ("look", "look by llvmlite"):
            return [here]
        if step.action == "carry":  # what LLVM wrote is not carried along
            top = self._top(thread)
            if step.way == "wrap":  # outside every scope as well, it hands over a context
                top = replace(top, runs=True)
            else:  # in a copy of its contextvars, without what was set
                top = self._of_task(thread) or self._outside()
                top = replace(top, current=dict(top.values))
            return [self._sight(thread, replace(top, shown=dict(top.current)))]
        if step.action == "inside":
            inner = self._sight(thread, self._nested(thread, step.options))
            return [inner, here]
        if step.action == "bind":
            bound = self.contexts[step.context].values
            return [here._replace(llvm=key_of(bound)), here]
        if step.action == "fork":
            outside = self._alone(self._outside())._replace(depth=0)
            contexts = [self.contexts[index] for index in (step.context, step.other)]
            return [here, outside, *(self._alone(frame) for frame in contexts)]
        return []

    @staticmethod
    def _entered(values: Given) -> Frame:
        return Frame(values, values, dict(values))

    def _nested(self, thread: int, options: Options) -> Frame:
        return self._entered({**self._top(thread).current, **dict(options)})

    def _set(self, frame: Frame, given: Given) -> None:
        frame.shown.update(given)
        frame.current = {**frame.current, **given}

    def _top(self, thread: int) -> Frame:
        return self.stacks[thread][-1] if self.stacks[thread] else self._outside()

    def _of_task(self, thread: int) -> Frame | None:
        return next((frame for frame in reversed(self.stacks[thread]) if frame.of_task), None)

    def _outside(self) -> Frame:
        return replace(self._entered(self.outside), runs=not self.forbids)

    def _sight(self, thread: int, frame: Frame) -> Sight:
        return self._alone(frame)._replace(depth=self.depth(thread))

    def _alone(self, frame: Frame) -> Sight:
        """In a process without other threads."""
        return Sight(key_of(frame.shown) if frame.runs else None, _sorted(frame.current), 1)


def _sorted(given: Given) -> Options:
    return tuple(sorted(given.items()))
