"""Values of a thread's own (`thread`), and values that travel with an LLVMContext (`llvm-context`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from evidence.strategies.strategy import Strategy
from optctx.compiling import Job, Result
from optctx.compiling.job import compile_unchecked
from optctx.context import OptionContext, tool
from optctx.context.wrap import wrap


class ThreadStrategy(Strategy):
    """A scope of optctx: LLVM reads this thread's values, while other threads read theirs."""

    name = "thread"
    source = "optctx: a thread-local pointer to the values, on an unmodified library"

    def _enter(self, inside: tuple[str, ...], own: tuple[str, ...]) -> OptionContext:
        # What others set for the process does not count, however deeply scopes nest.
        return OptionContext.from_args(inside, base="defaults").__enter__()

    def _leave(self, kept: OptionContext) -> None:
        kept.__exit__(None, None, None)

    def task(self, job: Job) -> Callable[[], Result]:
        inside = replace(job, options=self.options_of_thread(job.options))
        with self.scope(job.options):
            return wrap(partial(compile_unchecked, inside))

    def run_tool(self, job: Job) -> Result:
        with tool():
            return super().run_tool(job)


class LlvmContextStrategy(Strategy):
    """Values bound to the LLVMContext of each compilation. No thread has any; targets are made without."""

    name = "llvm-context"
    source = "optctx: OptionContext.bind, as proposed for LLVM in issue 182385"

    def _enter(self, inside: tuple[str, ...], own: tuple[str, ...]) -> None:
        OptionContext.from_args(inside, base="defaults")  # raises for what cannot be bound

    def _compile(self, job: Job) -> Result:
        return compile_unchecked(job, prepare=OptionContext.from_args(job.options, base="defaults").bind)
