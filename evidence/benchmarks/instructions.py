"""Instructions executed by an -O3 compile and object emission, counted by callgrind.

The untouched library is the baseline; the same work runs attached, outside and inside a context whose
overrides do not change the code; the same while compilations outside every scope are refused; while it is
recorded what is read; and beside a thread that records.
Every run is a fresh process.
"""

from __future__ import annotations

import contextlib
import hashlib
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

from llvmlite import binding

from evidence.benchmarks._callgrind import counted, is_missing, run_python_counted
from evidence.benchmarks._module import compile_native, module_text
from evidence.benchmarks._report import Report, Spread, spread
from optctx import OptionContext, attach, record

_STATES = (
    "untouched",
    "outside",
    "inside",
    "inside, others refused",
    "recording",
    "beside a thread",
    "beside a recording",
)
# State, what it is held against, and the highest ratio.
_LIMITS = (
    ("outside", "untouched", 1.005),
    ("inside", "untouched", 1.01),
    ("inside, others refused", "inside", 1.0002),
    ("recording", "outside", 1.03),
    ("beside a recording", "beside a thread", 1.0002),
)
_REPEATS = 3
# Values that LLVM has anyway, of options that this compile reads.
_OVERRIDES = {
    "memdep-block-scan-limit": 100,
    "available-load-scan-limit": 6,
    "licm-max-num-uses-traversed": 8,
    "x86-early-ifcvt": False,
    "max-sched-reorder": 6,
}


def main() -> int:
    report = Report("Instructions executed by -O3 and object emission")
    if is_missing():
        return 2
    print(f"module    {len(module_text().splitlines())} lines of IR, x86-64, default<O3>")
    counts: dict[str, list[int]] = {state: [] for state in _STATES}
    objects = set()
    for _ in range(_REPEATS):
        for state in _STATES:
            count, said = run_python_counted("evidence.benchmarks.instructions", state)
            counts[state].append(count)
            objects.add(said)
    for state in _STATES:
        report.line(f"{state}, millions", spread(counts[state]).text(1e-6))
    for state, baseline, limit in _LIMITS:
        base = spread(counts[baseline]).median
        ratio: Spread = spread([count / base for count in counts[state]])
        report.line(f"{state} / {baseline}", ratio.text(1, 5))
        report.target(f"{state} / {baseline}, median", ratio.median, limit)
    report.target("different objects", len(objects), 1)
    return report.end()


def run(state: str) -> None:
    """Compiles once and prints what came out; for a process of its own, under callgrind."""
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    context: AbstractContextManager[object] = contextlib.nullcontext()
    if state != "untouched":
        attach(outside="error" if "refused" in state else "allow")
    if state.startswith("inside"):
        context = OptionContext(_OVERRIDES)
    if state.startswith("beside"):
        context = _another_thread(record if state == "beside a recording" else contextlib.nullcontext)
    with context:
        compile_native(module_text(1), contextlib.nullcontext())  # what LLVM and Python do once in a process
        with record() if state == "recording" else contextlib.nullcontext():
            code = compile_native(module_text(), counted())
    print(len(code), hashlib.sha256(code).hexdigest())


@contextlib.contextmanager
def _another_thread(inside: Callable[[], AbstractContextManager[object]]) -> Iterator[None]:
    begun, done = threading.Event(), threading.Event()

    def work() -> None:
        with inside():
            compile_native(module_text(1), contextlib.nullcontext())
            begun.set()
            done.wait()

    thread = threading.Thread(target=work)
    thread.start()
    begun.wait()
    try:
        yield
    finally:
        done.set()
        thread.join()


if __name__ == "__main__":
    if sys.argv[1:]:
        run(sys.argv[1])
    else:
        sys.exit(main())
