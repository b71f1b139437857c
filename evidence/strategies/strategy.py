"""What every way of giving options to a compilation has in common."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, ClassVar

from evidence.strategies.arguments import merged, reset_process_options
from optctx.compiling import Image, Job, Result, image_of
from optctx.compiling.job import compile_unchecked
from optctx.drifting.drift import drift
from optctx.engine.attach import attach
from optctx.errors import ScopeError
from optctx.process import set_process_options


class _Scopes(threading.local):
    """Of one thread: for each of its scopes the options, those of outer ones included, and what is kept."""

    def __init__(self) -> None:
        self.entered: list[tuple[tuple[str, ...], Any]] = []


class Strategy:
    """One way to compile under options. A context manager; open one at a time in a process.

    `enter` and `leave` are scopes of the calling thread: what it compiles in between is compiled under the
    scope's options. A scope inside another adds to it; for an option that both name, the inner one counts.
    Everything may be called on any thread. Where the way itself is unsound, so is the strategy: it does what
    its source does, and `python -m evidence compare` shows what follows from it.
    """

    name: ClassVar[str]
    source: ClassVar[str]  # whose rules these are, and where they stand
    # Whether every compilation takes place in this process. Elsewhere nothing here can disturb it.
    in_process: ClassVar[bool] = True
    # A libLLVM, for those ways that are tried with other LLVMs than llvmlite's.
    llvm = ""

    def __init__(self) -> None:
        # Called on a thread that begins to wait for another one, and on one that wakes all that wait.
        self.when_waiting: Callable[[], None] = _ignore
        self.when_waking: Callable[[], None] = _ignore
        self._scopes = _Scopes()

    def __enter__(self) -> Strategy:
        return self

    def __exit__(self, *error: object) -> None:
        """Give back what the strategy holds. Scopes that are still entered are not left."""

    @property
    def image(self) -> Image | None:
        """The LLVM that compiles; None is llvmlite's."""
        return image_of(self.llvm)

    def prepare(self) -> None:
        """Do once in a process what each of its children would do again."""
        attach(self.image)

    def process_options(self) -> dict[str, object]:
        """The options that differ for the process from what is registered."""
        return dict(drift(self.image))

    def enter(self, options: Sequence[str]) -> None:
        """Enter a scope on this thread, with options such as "-unroll-count=4".

        Raises OptctxError for options that the way refuses, with nothing entered.
        """
        inside = self.options_of_thread(options)
        self._scopes.entered.append((inside, self._enter(inside, tuple(options))))

    def leave(self) -> None:
        """Leave this thread's innermost scope. Raises ScopeError if there is none."""
        if not self._scopes.entered:
            raise ScopeError(f"cannot leave a scope of {self.name!r}: this thread is in none")
        _, kept = self._scopes.entered.pop()
        self._leave(kept)

    @contextmanager
    def scope(self, options: Sequence[str]) -> Iterator[None]:
        """Enter, and leave however the block ends."""
        self.enter(options)
        try:
            yield
        finally:
            self.leave()

    def compile(self, job: Job) -> Result:
        """Compile under this thread's scopes, the job's own options on top. Raises as `enter` does."""
        inside = self.options_of_thread(job.options)
        if inside == self.options_of_thread(()) and self._scopes.entered:
            return self._compile(replace(job, options=inside))
        with self.scope(job.options):
            return self._compile(replace(job, options=inside))

    def task(self, job: Job) -> Callable[[], Result]:
        """A function that compiles, on any thread, as this thread would compile now."""
        inside = replace(job, options=self.options_of_thread(job.options))
        return lambda: self.compile(inside)

    def run_tool(self, job: Job) -> Result:
        """Run, inside this thread's scopes, code written as LLVM's tools are, which knows of no strategy.

        It resets every option, has LLVM parse the job's, compiles, and resets again.
        """
        reset_process_options(self.image)
        set_process_options(job.options, self.image)
        try:
            return compile_unchecked(replace(job, options=()))
        finally:
            reset_process_options(self.image)

    def options_of_thread(self, options: Sequence[str]) -> tuple[str, ...]:
        """Those of this thread's scopes, with `options` on top. Each name occurs once."""
        entered = self._scopes.entered
        return merged((*(entered[-1][0] if entered else ()), *options))

    def _enter(self, inside: tuple[str, ...], own: tuple[str, ...]) -> Any:
        """Begin a scope whose options are `inside`; `own` are those that it adds. What it gives is kept.

        By default a scope is nothing but what the next compilation gets.
        """

    def _leave(self, kept: Any) -> None:
        """End this thread's innermost scope, for which `_enter` returned `kept`."""

    def _compile(self, job: Job) -> Result:
        """Compile in this thread's innermost scope, whose options are the job's."""
        return compile_unchecked(job)


def _ignore() -> None:
    """Nothing waits to hear of it."""
