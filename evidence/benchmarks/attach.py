"""How long importing and the first use take, and how much memory, in fresh processes.

By turns: with nothing kept by an earlier process (cold), and with what one has kept (warm). The library's own
import is the baseline. And what attaching and bound contexts add to a fork.

    python -m evidence.benchmarks.attach            # of llvmlite's LLVM
    python -m evidence.benchmarks.attach 22         # of a libLLVM, as `optctx.libllvm.open` takes it
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable
from typing import Any

from evidence.benchmarks._report import Report, fresh_output, spread

_REPEATS = 15
_COLD, _WARM, _IMPORT, _NAME = 0.35, 0.08, 0.002, 0.04  # seconds
_FORK_RATIO = 2.0
_RESIDENT, _PRIVATE = 60.0, 20.0  # MiB
_HOMES = ("XDG_CACHE_HOME", "XDG_STATE_HOME")

_FRESH = """
import json, sys, time
clock = time.perf_counter
start = clock()
import llvmlite.binding
library = clock()
import optctx
package = clock()
from optctx import OptionContext
names = clock()
libllvm = optctx.libllvm.open(sys.argv[2]) if sys.argv[2] else None  # loading it is not attaching
loaded = clock()
processor = time.process_time()
OptionContext({"unroll-count": 4}, image=libllvm and libllvm.image)
used = clock()
processor = time.process_time() - processor
image = optctx.info()["images"][0]
assert image["attach_cache"] == sys.argv[1], image["attach_cache"]
print(json.dumps({
    "import llvmlite.binding (baseline)": library - start,
    "import optctx": package - library,
    "from optctx import OptionContext": names - package,
    "first use": used - loaded,
    "first use, processor time": processor,
    "parts": image["seconds"],
}))
"""


# What attaching adds, in MiB: resident memory, and what no other process could share of it.
_MEMORY = """
import json
import llvmlite.binding
from optctx import attach

def memory():
    with open("/proc/self/smaps_rollup") as rollup:
        lines = [line.split() for line in rollup]
    sizes = {line[0]: int(line[1]) / 1024 for line in lines[1:]}
    return sizes["Rss:"], sizes["Anonymous:"]

before = memory()
attach()
print(json.dumps([now - was for now, was in zip(memory(), before)]))
"""


# Seconds to fork a child that ends at once, and to wait for it, in a process with a thousand LLVMContexts.
_FORKS = """
import json, os, statistics, sys, time
from llvmlite import binding
binding.initialize_native_target()
llvm_contexts = [binding.create_context() for _ in range(1000)]
if sys.argv[1] == "bound":
    from optctx import OptionContext
    for number, llvm_context in enumerate(llvm_contexts):
        OptionContext({"unroll-count": number + 1}).bind(llvm_context)

def fork():
    start = time.perf_counter()
    if not (child := os.fork()):
        os._exit(0)
    os.waitpid(child, 0)
    return time.perf_counter() - start

print(json.dumps(statistics.median(fork() for _ in range(100))))
"""


def _cold(script: str, library: str) -> Any:
    """In a home where nothing is kept; what the process keeps is part of it."""
    with tempfile.TemporaryDirectory() as home:
        return _in_home(home, script, "kept", library)


def _in_home(home: str, script: str, state: str, library: str) -> Any:
    os.environ.update(dict.fromkeys(_HOMES, home))
    return json.loads(fresh_output(script, state, library))


def main(library: str = "") -> int:
    report = Report("Attaching: importing and the first use in a fresh process, milliseconds")
    # As installed: with bytecode of every module, which the first process below writes.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory() as home:
        _in_home(home, _FRESH, "kept", library)  # brings the files into the page cache, too
        kinds: dict[str, Callable[[], Any]] = {
            "cold": lambda: _cold(_FRESH, library),
            "warm": lambda: _in_home(home, _FRESH, "used", library),
        }
        # By turns: what else the machine does meets all of them.
        turns = [{name: run() for name, run in kinds.items()} for _ in range(_REPEATS)]
        runs = {name: [turn[name] for turn in turns] for name in kinds}
        _print_times(report, runs)
        if library:
            return report.end()
        memory: dict[str, Callable[[], Any]] = {
            "cold": lambda: _cold(_MEMORY, ""),
            "warm": lambda: _in_home(home, _MEMORY, "used", ""),
        }
        for name, run in memory.items():
            sizes = zip(*(run() for _ in range(3)), strict=True)
            limits = (("resident", _RESIDENT), ("private", _PRIVATE))
            for (what, limit), found in zip(limits, sizes, strict=True):
                report.target(
                    f"memory of attaching, {what}, {name}, median", spread(found).median, limit, " MiB"
                )
    _print_forks(report)
    return report.end()


def _print_forks(report: Report) -> None:
    turns = [[json.loads(fresh_output(_FORKS, kind)) for kind in ("plain", "bound")] for _ in range(3)]
    plain, bound = map(spread, zip(*turns, strict=True))
    report.line("fork, end and wait, with 1,000 LLVMContexts (baseline)", plain.text(1e3, 2))
    report.line("the same, each bound to a context", bound.text(1e3, 2))
    report.target("the ratio", bound.median / plain.median, _FORK_RATIO, "")


def _print_times(report: Report, runs: dict[str, list[Any]]) -> None:
    both = runs["cold"] + runs["warm"]
    for name in ("import llvmlite.binding (baseline)", "import optctx", "from optctx import OptionContext"):
        report.line(name, spread([run[name] for run in both]).text(1e3, 2))
    for kind, own in runs.items():
        for name in ("first use", "first use, processor time"):
            report.line(f"{name}, {kind}", spread([run[name] for run in own]).text(1e3, 2))
    for kind in ("cold", "warm"):
        for part in runs[kind][0]["parts"]:
            report.line(
                f"  of which {part}, {kind}", spread([run["parts"][part] for run in runs[kind]]).text(1e3, 2)
            )
    for name, found, limit in (
        ("import optctx, median", [run["import optctx"] for run in both], _IMPORT),
        ("its first name, median", [run["from optctx import OptionContext"] for run in both], _NAME),
        ("first use, cold, median", [run["first use"] for run in runs["cold"]], _COLD),
        ("first use, warm, median", [run["first use"] for run in runs["warm"]], _WARM),
    ):
        report.target(name, spread(found).median, limit, " s")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
