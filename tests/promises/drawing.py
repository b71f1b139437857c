"""Draws programs that can be run to their end.

Rounds are of two kinds.
  together: scopes stay entered from round to round, so all threads are inside different values at once.
  alone: one thread acts, wherever the others are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from hypothesis import strategies as st

from tests.promises.model import CHOICES, GROWS, Model
from tests.promises.program import Action, Context, Options, Outside, Program, Round, Step

THREADS = 3
_DEEPEST = 3
_LONGEST = 4  # steps of a thread in a round
_DRIFTING = ("unroll-count", "inline-threshold", "asan-memory-access-callback-prefix")
_WAYS = ("a thread", "wrap")

# An action that stands here twice is drawn twice as often.
_ANYWHERE: tuple[Action, ...] = ("look", "enter", "enter", "nest", "bind")
_INSIDE: tuple[Action, ...] = (
    *("leave", "leave", "leave", "set", "set", "write", "write"),
    *("look by llvmlite", "die"),
)
_OUTSIDE: tuple[Action, ...] = ("look by llvmlite", "carry")
_ALONE: tuple[Action, ...] = ("fork", "fork", "detach", "drift")


def _options(names: Sequence[str], most: int, least: int = 0) -> st.SearchStrategy[Options]:
    one = st.sampled_from([(name, text) for name in names for text in CHOICES[name]])
    return st.lists(one, min_size=least, max_size=most, unique_by=lambda each: each[0]).map(tuple)


_ANY = _options(list(CHOICES), 3)
_CONTEXTS = st.lists(
    st.builds(
        Context,
        st.sampled_from(["inherit", "inherit", "defaults", 0, 1]),
        _ANY,
        st.sampled_from(["made", "derived", "pickled"]),
    ),
    min_size=3,
    max_size=4,
)


class _Drawing:
    def __init__(self, draw: st.DrawFn, inside: Sequence[str]) -> None:
        self.draw = draw
        self.inside = inside
        own: tuple[Action, ...] = ("inside", "inside", "inside") if inside else ()
        self.anywhere = (*_ANYWHERE, *own)
        self.contexts = self._contexts()
        self.drift: Options = draw(_options(_DRIFTING, 2))
        self.outside: Outside = draw(st.sampled_from(get_args(Outside)))
        self.model = Model(Program(self.drift, self.contexts, (), self.outside), THREADS)
        self.rounds: list[Round] = []
        self.grown: set[int] = set()  # threads that have set a list: the model does not know how it grows
        self.is_alone = False  # the thread whose steps are drawn

    def _contexts(self) -> tuple[Context, ...]:
        return tuple(
            each._replace(base="defaults") if isinstance(each.base, int) and each.base >= number else each
            for number, each in enumerate(self.draw(_CONTEXTS))
        )

    def program(self) -> Program:
        kinds = [self.alone, self.together, self.together]
        for number in self.draw(st.lists(st.integers(0, len(kinds) - 1), min_size=3, max_size=6)):
            kinds[number]()
        return Program(self.drift, self.contexts, tuple(self.rounds), self.outside)

    # Rounds

    def together(self) -> None:
        allowed = (*self.anywhere, *_INSIDE, *_OUTSIDE)
        self.add([self.ended(thread, self.steps(thread, allowed)) for thread in range(THREADS)])

    def alone(self) -> None:
        thread = self.draw(st.integers(0, THREADS - 1))
        allowed = (*self.anywhere, *_INSIDE, *_OUTSIDE, *_ALONE)
        self.is_alone = True
        own = self.ended(thread, self.steps(thread, allowed))
        self.is_alone = False
        self.add([own if each == thread else [] for each in range(THREADS)])

    def add(self, steps: list[list[Step]]) -> None:
        if any(steps):
            self.rounds.append(tuple(map(tuple, steps)))

    # Steps

    def ended(self, thread: int, steps: list[Step]) -> list[Step]:
        """With a look at what the steps have led to."""
        return [*steps, self.step(thread, "look")] if steps[-1].action != "look" else steps

    def steps(self, thread: int, allowed: Sequence[Action]) -> list[Step]:
        found: list[Step] = []
        for _ in range(self.draw(st.integers(1, _LONGEST))):
            possible = [action for action in allowed if self.is_possible(thread, action)]
            found.append(self.step(thread, self.draw(st.sampled_from(possible))))
        return found

    def is_possible(self, thread: int, action: Action) -> bool:
        depth = self.model.depth(thread)
        if action in ("enter", "nest"):
            return depth < _DEEPEST
        if action == "drift":
            return depth == 0
        return depth > 0 or action not in _INSIDE or action in _OUTSIDE

    def step(self, thread: int, action: Action) -> Step:
        step = self.filled(thread, Step(action))
        self.model.take(thread, step)
        return step

    def filled(self, thread: int, step: Step) -> Step:
        """The step with whatever else it needs."""
        draw, action = self.draw, step.action
        made = st.integers(0, len(self.contexts) - 1)
        if action in ("enter", "bind", "fork"):
            step = step._replace(context=draw(made))
        if action == "fork":
            step = step._replace(other=draw(made))
        if action in ("nest", "inside"):
            step = step._replace(options=draw(_ANY))
        if action == "inside":
            step = step._replace(way=draw(st.sampled_from(self.inside)), other=draw(st.integers(0, 5)))
        if action == "nest":
            step = step._replace(way=draw(st.sampled_from(("", "C++"))))
        if action == "set":
            names = [name for name in CHOICES if name != GROWS or thread not in self.grown]
            step = step._replace(options=draw(_options(names, 2, 1)))
            if GROWS in dict(step.options):
                self.grown.add(thread)
        if action == "drift":
            step = step._replace(options=draw(_options(_DRIFTING, 1, 1)))
        if action == "carry":
            forks = self.is_alone and draw(st.booleans())  # else llvmlite's lock may be held in the child
            step = step._replace(way=draw(st.sampled_from(_WAYS)), other=int(forks))
        return step


@st.composite
def programs(draw: st.DrawFn, inside: Sequence[str] = ()) -> Program:
    """`inside`: names of what the caller adds."""
    return _Drawing(draw, inside).program()
