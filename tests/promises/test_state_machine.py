"""Nested scopes on several real threads, held against a model in plain Python and against LLVM itself."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule
from hypothesis.stateful import run_state_machine_as_test as run_machine
from llvmlite import binding
from support import SECONDS, run_python, scopes_become, unrolled

import optctx
from optctx import OptionContext, ScopeError, current, registry

Values = dict[str, Any]

# Options of several types and storages; no other is touched, so every other one keeps its default.
DRAWN: dict[str, st.SearchStrategy[Any]] = {
    "unroll-count": st.integers(1, 8),
    "inline-threshold": st.integers(-5, 500),
    "vectorize-loops": st.booleans(),
    "enable-tail-merge": st.booleans(),
    "chr-bias-threshold": st.floats(0, 1),
    "x86-asm-syntax": st.sampled_from(["att", "intel"]),
    "asan-memory-access-callback-prefix": st.text("ab", max_size=3),
    "print-after": st.lists(st.sampled_from(["x", "y"]), max_size=2),
    "force-vector-width": st.sampled_from([1, 2, 4]),
}
SCALARS = ["unroll-count", "inline-threshold", "asan-memory-access-callback-prefix", "force-vector-width"]
OVERRIDES = st.lists(st.sampled_from(sorted(DRAWN)), unique=True, max_size=4).flatmap(
    lambda names: st.fixed_dictionaries({name: DRAWN[name] for name in names})
)
THREADS = st.integers(0, 2)


class Worker:
    """A thread that does what it is told, one thing after the other."""

    def __init__(self) -> None:
        self._work: queue.Queue[Callable[[], object] | None] = queue.Queue()
        self._done: queue.Queue[tuple[object, BaseException | None]] = queue.Queue()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while (work := self._work.get()) is not None:
            try:
                self._done.put((work(), None))
            except BaseException as error:  # raised where it was asked for
                self._done.put((None, error))

    def do(self, work: Callable[[], Any]) -> Any:
        self._work.put(work)
        result, error = self._done.get(timeout=SECONDS)
        if error is not None:
            raise error
        return result

    def end(self) -> None:
        """Lets the thread end, inside whatever scopes it is."""
        self._work.put(None)
        self._thread.join(SECONDS)
        assert not self._thread.is_alive()


@dataclass(frozen=True, eq=False)
class Model:
    """A context and what the model thinks that it says."""

    context: OptionContext
    values: Values  # of every option in DRAWN
    own: Values


class Scopes(RuleBasedStateMachine):
    """The model: process-wide values, and for each thread a stack of contexts."""

    contexts = Bundle("contexts")

    @initialize()
    def begin(self) -> None:
        self.defaults: Values = {name: registry()[name].default for name in DRAWN}
        # Earlier examples have set options process-wide: only what they are now counts.
        self.process: Values = {name: registry()[name].value for name in DRAWN}
        self.workers = [Worker() for _ in range(3)]
        self.stacks: list[list[Model]] = [[] for _ in self.workers]

    def values_on(self, thread: int) -> Values:
        return self.stacks[thread][-1].values if self.stacks[thread] else self.process

    @rule(target=contexts, thread=THREADS, own=OVERRIDES, base=st.sampled_from(["inherit", "defaults"]))
    def make(self, thread: int, own: Values, base: Any) -> Model:
        below = self.values_on(thread) if base == "inherit" else self.defaults
        context = self.workers[thread].do(lambda: OptionContext(own, base=base))
        return Model(context, {**below, **own}, own)

    @rule(target=contexts, base=contexts, thread=THREADS, own=OVERRIDES)
    def make_on_top(self, base: Model, thread: int, own: Values) -> Model:
        context = self.workers[thread].do(lambda: OptionContext(own, base=base.context))
        return Model(context, {**base.values, **own}, own)

    @rule(target=contexts, base=contexts, thread=THREADS, own=OVERRIDES)
    def derive(self, base: Model, thread: int, own: Values) -> Model:
        context = self.workers[thread].do(lambda: base.context.derive(own))
        return Model(context, {**base.values, **own}, {**base.own, **own})

    @rule(model=contexts, thread=THREADS)
    def enter(self, model: Model, thread: int) -> None:
        assert self.workers[thread].do(model.context.__enter__) is model.context
        self.stacks[thread].append(model)

    @rule(thread=THREADS)
    def leave(self, thread: int) -> None:
        if self.stacks[thread]:
            model = self.stacks[thread].pop()
            self.workers[thread].do(lambda: model.context.__exit__(None, None, None))

    @rule(model=contexts, thread=THREADS)
    def leave_any(self, model: Model, thread: int) -> None:
        """Mostly out of order, on another thread, or without having entered."""
        stack = self.stacks[thread]
        try:
            self.workers[thread].do(lambda: model.context.__exit__(None, None, None))
        except ScopeError:
            assert not stack or stack[-1] is not model
        else:
            assert stack.pop() is model

    @rule(model=contexts, thread=THREADS)
    def run_inside(self, model: Model, thread: int) -> None:
        assert self.workers[thread].do(lambda: model.context.run(current)) is model.context

    @rule(thread=THREADS)
    def fail_inside(self, thread: int) -> None:
        """An exception leaves the scope, and a bad value makes none."""

        def fail() -> None:
            with OptionContext({"unroll-count": 7}):
                OptionContext({"unroll-count": "x"})

        try:
            self.workers[thread].do(fail)
        except optctx.OptionValueError:
            return
        raise AssertionError("nothing was raised")

    @rule(thread=THREADS)
    def end_thread(self, thread: int) -> None:
        """A thread that ends leaves its scopes; another takes its place."""
        self.workers[thread].end()
        self.workers[thread], self.stacks[thread] = Worker(), []

    @rule(thread=THREADS, name=st.sampled_from(SCALARS), data=st.data())
    def set_for_all(self, thread: int, name: str, data: st.DataObject) -> None:
        """Process-wide, whatever scopes the threads are in."""
        value = data.draw(DRAWN[name])
        # Inside a scope it would be the scope's.
        worker = Worker() if self.stacks[thread] else self.workers[thread]
        worker.do(lambda: binding.set_option("", f"-{name}={value}"))
        if worker is not self.workers[thread]:
            worker.end()
        self.process = {**self.process, name: value}

    @rule(first=contexts, second=contexts)
    def compare(self, first: Model, second: Model) -> None:
        differs = set(first.context.diff(second.context))
        assert {name for name in DRAWN if first.values[name] != second.values[name]} <= differs <= set(DRAWN)
        assert (first.context == second.context) == (not differs)
        if not differs:
            assert hash(first.context) == hash(second.context)

    @rule(model=contexts)
    def read(self, model: Model) -> None:
        assert {name: model.context[name] for name in DRAWN} == model.values
        assert dict(model.context.overrides) == model.own

    @rule(thread=THREADS)
    def compile(self, thread: int) -> None:
        """LLVM agrees."""
        assert self.workers[thread].do(unrolled) == max(1, self.values_on(thread)["unroll-count"])

    @invariant()
    def every_thread_sees_what_the_model_says(self) -> None:
        if not hasattr(self, "workers"):
            return
        for thread, worker in enumerate(self.workers):
            seen = worker.do(current)
            assert {name: seen[name] for name in DRAWN} == self.values_on(thread)
            if self.stacks[thread]:
                assert seen is self.stacks[thread][-1].context
        assert {name: registry()[name].value for name in DRAWN} == self.process
        assert scopes_become(sum(map(len, self.stacks)))

    def teardown(self) -> None:
        for worker in getattr(self, "workers", []):
            worker.end()
        assert scopes_become(0)


def run_scopes() -> None:
    """Sets options process-wide: for a process of its own."""
    assert unrolled() == 1
    # No shrinking: it takes longer than the process may, and forty steps can be read.
    run_machine(Scopes, settings=settings(max_examples=20, stateful_step_count=40, phases=[Phase.generate]))


@pytest.mark.redirected
def test_scopes_on_several_threads_agree_with_the_model() -> None:
    run_python("from test_state_machine import run_scopes; run_scopes()")
