"""Draws programs that can be run to their end: no thread waits for one that waits for it.

Rounds are of three kinds.
  together: scopes stay entered from round to round, so all threads are inside different values at once.
  apart: threads may change options for the whole process, and wait for each other to leave. Every thread ends
    the round outside, and waits for no other inside a scope.
  alone: one thread acts, wherever the others are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from hypothesis import strategies as st

from tests.promises.model import CHOICES, GROWS, PROCESS_WIDE, Model
from tests.promises.program import Action, Context, Options, Outside, Program, Round, Step

THREADS = 3
_DEEPEST = 3
_LONGEST = 4  # steps of a thread in a round
_DRIFTING = ("unroll-count", "inline-threshold", "asan-memory-access-callback-prefix")
_WAYS = ("a thread", "wrap", "to_thread", "a pool")

# An action that stands here twice is drawn twice as often.
_ANYWHERE: tuple[Action, ...] = ("look", "enter", "enter", "nest", "tasks", "record", "bind")
_INSIDE: tuple[Action, ...] = (
    *("leave", "leave", "fail", "refused leave"),
    *("set", "set", "write", "write", "copy", "look by llvmlite"),
)
_OUTSIDE: tuple[Action, ...] = ("look in copy", "look in copy")
_LLVMLITE: tuple[Action, ...] = ("look by llvmlite",)
_WAITING: tuple[Action, ...] = ("carry", "die")
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
        st.just(()),
        st.sampled_from(["made", "derived", "pickled"]),
    ),
    min_size=3,
    max_size=4,
)
_CHANGES = [((name, text),) for name, texts in PROCESS_WIDE.items() for text in texts]


class _Drawing:
    def __init__(self, draw: st.DrawFn, inside: Sequence[str]) -> None:
        self.draw = draw
        self.inside = inside
        own: tuple[Action, ...] = ("inside", "inside", "inside") if inside else ()
        self.anywhere = (*_ANYWHERE, *own)
        self.contexts = self._contexts()
        self.plain = [number for number, each in enumerate(self.contexts) if not each.process_wide]
        self.changing = [number for number, each in enumerate(self.contexts) if each.process_wide]
        self.drift: Options = draw(_options(_DRIFTING, 2))
        self.outside: Outside = draw(st.sampled_from(get_args(Outside)))
        self.model = Model(Program(self.drift, self.contexts, (), self.outside), THREADS)
        self.rounds: list[Round] = []
        self.grown: set[int] = set()  # threads that have set a list: the model does not know how it grows
        self.is_alone = False  # the thread whose steps are drawn

    def _contexts(self) -> tuple[Context, ...]:
        plain = [
            each._replace(base="defaults") if isinstance(each.base, int) and each.base >= number else each
            for number, each in enumerate(self.draw(_CONTEXTS))
        ]
        changing = [
            Context("inherit", self.draw(_ANY), self.draw(st.sampled_from(_CHANGES))) for _ in range(2)
        ]
        return (*plain, *changing)

    def program(self) -> Program:
        kinds = [self.apart, self.alone, self.held, self.together, self.together]
        for number in self.draw(st.lists(st.integers(0, len(kinds) - 1), min_size=3, max_size=6)):
            kinds[number]()
        return Program(self.drift, self.contexts, tuple(self.rounds), self.outside)

    # Rounds

    def together(self) -> None:
        allowed = (*self.anywhere, *_INSIDE, *_OUTSIDE, *_LLVMLITE, *_WAITING)
        self.add([self.ended(thread, self.steps(thread, allowed, 1)) for thread in range(THREADS)])

    def apart(self) -> None:
        round_: list[list[Step]] = []
        for thread in range(THREADS):
            looks = [self.step(thread, "look")] if self.model.depth(thread) else []
            own = looks + self.outward(thread)
            if self.draw(st.booleans()):
                own.append(self.step(thread, "enter", self.draw(st.sampled_from(self.changing))))
            own += self.steps(thread, (*self.anywhere, *_INSIDE, *_OUTSIDE, "refused enter"), 0)
            round_.append(own + self.outward(thread))
        self.add(round_)

    def alone(self) -> None:
        thread = self.draw(st.integers(0, THREADS - 1))
        allowed = (*self.anywhere, *_INSIDE, *_OUTSIDE, *_LLVMLITE, *_WAITING, *_ALONE)
        self.is_alone = True
        own = self.ended(thread, self.steps(thread, allowed, 1))
        self.is_alone = False
        self.add([own if each == thread else [] for each in range(THREADS)])

    def held(self) -> None:
        """A thread is inside process-wide changes while another one forks."""
        self.add([self.outward(thread) for thread in range(THREADS)])
        holder, other = self.draw(st.sampled_from([(0, 1), (1, 2), (2, 0)]))
        enter = [
            self.step(holder, "enter", self.draw(st.sampled_from(self.changing))),
            self.step(holder, "look"),
        ]
        self.add([enter if each == holder else [] for each in range(THREADS)])
        forker = self.draw(st.sampled_from([holder, other]))
        fork = [self.step(forker, "fork")]
        self.add([fork if each == forker else [] for each in range(THREADS)])
        leave = [self.step(holder, "look"), *self.outward(holder)]
        self.add([leave if each == holder else [] for each in range(THREADS)])

    def add(self, steps: list[list[Step]]) -> None:
        if any(steps):
            self.rounds.append(tuple(map(tuple, steps)))

    # Steps

    def ended(self, thread: int, steps: list[Step]) -> list[Step]:
        """With a look at what the steps have led to."""
        return [*steps, self.step(thread, "look")] if steps[-1].action != "look" else steps

    def outward(self, thread: int) -> list[Step]:
        """Out of every scope of the thread."""
        found = []
        while self.model.depth(thread):
            found.append(self.step(thread, self.draw(st.sampled_from(["leave", "leave", "fail", "die"]))))
        return found

    def steps(self, thread: int, allowed: Sequence[Action], least: int) -> list[Step]:
        found: list[Step] = []
        for _ in range(self.draw(st.integers(least, _LONGEST))):
            possible = [action for action in allowed if self.is_possible(thread, action)]
            found.append(self.step(thread, self.draw(st.sampled_from(possible))))
        return found

    def is_possible(self, thread: int, action: Action) -> bool:
        depth, in_force = self.model.depth(thread), self.model.in_force(thread)
        if action in ("enter", "nest"):
            return depth < _DEEPEST
        if action == "refused enter":
            return bool(in_force)
        if action == "drift":
            return depth == 0
        if action == "copy":
            return not in_force
        if action == "look in copy":
            return depth == 0
        return depth > 0 or action not in (*_INSIDE, "die")

    def step(self, thread: int, action: Action, context: int = -1) -> Step:
        step = self.filled(thread, Step(action, context))
        self.model.take(thread, step)
        return step

    def filled(self, thread: int, step: Step) -> Step:
        """The step with whatever else it needs."""
        draw, action = self.draw, step.action
        if action in ("enter", "bind") and step.context < 0:
            step = step._replace(context=draw(st.sampled_from(self.plain)))
        if action == "fork":
            step = step._replace(
                context=draw(st.sampled_from(self.plain)), other=draw(st.sampled_from(self.changing))
            )
        if action == "refused leave":
            own = self.model.stacks[thread][-1].context
            others = [number for number in range(len(self.contexts)) if number != own]
            step = step._replace(context=draw(st.sampled_from(others)))
        if action == "refused enter":
            changes = [each for each in _CHANGES if each != self.model.in_force(thread)]
            step = step._replace(options=draw(st.sampled_from(changes)))
        if action in ("nest", "tasks", "inside"):
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
        if action == "leave" and not self.model.stacks[thread][-1].of_task:
            step = step._replace(way=draw(st.sampled_from(("", "elsewhere"))))
        return step


@st.composite
def programs(draw: st.DrawFn, inside: Sequence[str] = ()) -> Program:
    """`inside`: names of what the caller adds."""
    return _Drawing(draw, inside).program()
