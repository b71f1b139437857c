"""Values of a thread's own (`thread`), and values that travel with an LLVMContext (`llvm-context`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from llvmlite import binding

from evidence.strategies.strategy import Strategy
from optctx.compiling import Job, Result
from optctx.compiling.job import compile_unchecked, make_target_machine, parse_module, unchecked
from optctx.context.context import OptionContext
from optctx.context.lookups import tool
from optctx.context.wrap import wrap
from optctx.errors import OptctxError
from optctx.hosts.llvmlite.compiling import emit, instruction_count, run_passes


class ThreadStrategy(Strategy):
    """A scope of optctx: LLVM reads this thread's values, while other threads read theirs."""

    name = "thread"
    source = "optctx: a thread-local pointer to the values, on an unmodified library"

    def _enter(self, inside: tuple[str, ...], own: tuple[str, ...]) -> OptionContext:
        # What others set for the process does not count, however deeply scopes nest.
        return OptionContext.from_args(inside, base="defaults", image=self.image).__enter__()

    def _leave(self, kept: OptionContext) -> None:
        kept.__exit__(None, None, None)

    def task(self, job: Job) -> Callable[[], Result]:
        inside = replace(job, options=self.options_of_thread(job.options))
        with self.scope(job.options):
            return wrap(partial(compile_unchecked, inside))

    def run_tool(self, job: Job) -> Result:
        with tool(image=self.image):
            return super().run_tool(job)


class LlvmContextStrategy(Strategy):
    """Values bound to the LLVMContext of each compilation. No thread has any; targets are made without."""

    name = "llvm-context"
    source = "optctx: OptionContext.bind, as proposed for LLVM in issue 182385"

    def _enter(self, inside: tuple[str, ...], own: tuple[str, ...]) -> None:
        OptionContext.from_args(inside, base="defaults")  # raises for what cannot be bound

    def _compile(self, job: Job) -> Result:
        bound, context = OptionContext.from_args(job.options, base="defaults"), binding.create_context()
        bound.bind(context)
        try:
            with (
                parse_module(job.ir, context) as module,
                make_target_machine(job, module, unchecked) as machine,
            ):
                run_passes(module, job.passes, target_machine=machine)
                instructions, text = instruction_count(module), str(module)
                code = emit(module, machine, as_object=job.emit != "assembly")
        except OptctxError as error:
            return Result(error=str(error), end="failed")
        ir = text if job.emit in ("ir", "both") else None
        return Result(ir, code if job.emit in ("object", "assembly", "both") else b"", instructions)
