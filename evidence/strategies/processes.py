"""A process for each compilation."""

from __future__ import annotations

from evidence.strategies.strategy import Strategy
from optctx.compiling import FreshProcess, Job, Result


class ForkServerStrategy(Strategy):
    """A process with LLVM loaded forks a child for each compilation.

    Scopes are plain data here: what the next process gets as its command line.
    """

    name = "process-forkserver"
    source = "tvm-rfcs#83, the alternative of another process; MIOpen#2021"
    in_process = False

    def __init__(self) -> None:
        super().__init__()
        self._fresh = FreshProcess()

    def __enter__(self) -> ForkServerStrategy:
        self._fresh.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._fresh.__exit__(*error)

    def run_tool(self, job: Job) -> Result:
        return self._compile(job)  # such a tool is a process of its own

    def _compile(self, job: Job) -> Result:
        return self._fresh.compile(job)
