"""A process for each compilation: one that is forked, or Debian's `opt` and `llc`."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time

from evidence.strategies.strategy import Strategy
from optctx.children.death import cause_of_end
from optctx.compiling import FreshProcess, Job, Result
from optctx.errors import OptctxError
from optctx.lab.llc import tool_target

_NEWEST_FIRST = (
    "",
    *(f"-{release}" for release in range(30, 16, -1)),
)  # opt-19 reads what llvmlite's LLVM reads
_LEAST = 17  # the first release whose tools read opaque pointers and -passes alone
_VERSION = re.compile(r"LLVM version (\d+)")


class _ProcessStrategy(Strategy):
    """Scopes are plain data here: what the next process gets as its command line."""

    in_process = False

    def run_tool(self, job: Job) -> Result:
        return self._compile(job)  # such a tool is a process of its own


class ForkServerStrategy(_ProcessStrategy):
    """A process with LLVM loaded forks a child for each compilation."""

    name = "process-forkserver"
    source = "tvm-rfcs#83, the alternative of another process; MIOpen#2021"

    def __init__(self) -> None:
        super().__init__()
        self._fresh = FreshProcess()

    def __enter__(self) -> ForkServerStrategy:
        self._fresh.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._fresh.__exit__(*error)

    def _compile(self, job: Job) -> Result:
        return self._fresh.compile(job)


class CommandLineStrategy(_ProcessStrategy):
    """Run `opt`, then `llc`, with the options on the command line of both. Each scope is a command line.

    The tools are the first of `opt`, `opt-30`, `opt-29` and so on that PATH has, of LLVM 17 or newer. Their
    LLVM is theirs: what they give is compared with what they give alone, not with another strategy.
    """

    name = "command-line"
    source = "LLVM, llvm/docs/CommandGuide (opt, llc)"

    def __init__(self) -> None:
        super().__init__()
        self.opt, self.llc = _tools()

    @property
    def unavailable(self) -> str:
        if self.opt and self.llc:
            return ""
        return f"found no opt and llc of LLVM {_LEAST} or newer on PATH; on Debian: apt-get install llvm-22"

    def _compile(self, job: Job) -> Result:
        started = time.perf_counter()
        try:
            text = self._run(self.opt, [f"-passes={job.passes}", "-o", "-", *tool_target(job)], job, job.ir)
            if job.emit in ("ir", "none"):
                text = self._run(self.opt, ["-passes=verify", "-S", "-o", "-"], None, text)
                return Result(text.decode(), seconds=time.perf_counter() - started)
            kind = "asm" if job.emit == "assembly" else "obj"
            arguments = [f"-filetype={kind}", f"-O{job.opt_level}", "-o", "-", *tool_target(job)]
            code = self._run(self.llc, arguments, job, text)
        except OptctxError as error:
            return Result(error=str(error), end="crashed", seconds=time.perf_counter() - started)
        return Result(code=code, seconds=time.perf_counter() - started)

    def _run(self, tool: str, arguments: list[str], job: Job | None, given: str | bytes) -> bytes:
        own = job.options if job is not None else ()
        data = given.encode() if isinstance(given, str) else given
        done = subprocess.run([tool, *arguments, *own, "-"], input=data, capture_output=True, check=False)
        if done.returncode:
            raise OptctxError(cause_of_end(done.returncode, done.stderr.decode(errors="replace")))
        return done.stdout


def _tools() -> tuple[str, str]:
    """(opt, llc) of one release; ("", "") if there is none."""
    for suffix in _NEWEST_FIRST:
        opt, llc = shutil.which(f"opt{suffix}"), shutil.which(f"llc{suffix}")
        if opt and llc and os.access(opt, os.X_OK):
            said = subprocess.run([opt, "--version"], capture_output=True, text=True, check=False).stdout
            if (version := _VERSION.search(said)) and int(version[1]) >= _LEAST:
                return opt, llc
    return "", ""
