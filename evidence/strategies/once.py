"""Options of the whole process, parsed by the first user alone: Halide's rule."""

from __future__ import annotations

from evidence.strategies.strategy import Strategy
from optctx.fresh import Job, Result
from optctx.fresh.job import compile_unchecked
from optctx.locks import lock_left_behind
from optctx.process import set_process_options

__all__ = ["OnceStrategy"]


class OnceStrategy(Strategy):
    """LLVM parses the options of the first scope, as it is initialised. All later ones are ignored.

    A first scope without options counts as well. A bad option ends the process.
    """

    name = "once"
    source = "Halide, src/CodeGen_LLVM.cpp (CodeGen_LLVM::initialize_llvm, HL_LLVM_ARGS)"

    def __init__(self) -> None:
        super().__init__()
        self._lock = lock_left_behind()
        self._parsed = False

    def _enter(self, inside: tuple[str, ...], own: tuple[str, ...]) -> None:
        with self._lock:
            if not self._parsed:
                set_process_options(inside)
                self._parsed = True

    def _leave(self) -> None:
        """Nothing is ever put back."""

    def _compile(self, job: Job) -> Result:
        return compile_unchecked(job)
