"""What one read of an option costs, in the forms that were proposed for LLVM, against a global.

Nanoseconds and instructions (callgrind, if valgrind is installed) for a read in a function of its own, the
call included. Compiles its loops with $CXX, or c++.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from evidence.benchmarks._callgrind import is_missing, run_counted
from evidence.benchmarks._report import Report, compile_cpp, spread

_REPEATS = 15
_LOOPS = 100_000  # of 64 reads
_COUNTED = 1000
_READS = 64  # in a loop
KINDS = {
    "empty": "a call without a read",
    "global": "a global (baseline)",
    "redirected": "redirected by optctx",
    "table": "a table by id, context passed on",
    "hash": "a struct found by hash, context passed on",
    "initial-exec": "a thread's table, initial-exec",
    "general-dynamic": "a thread's table, -fPIC general-dynamic",
}


def main() -> int:
    report = Report("Reads of an option")
    with tempfile.TemporaryDirectory() as folder:
        program = build(Path(folder))
        rounds = [{kind: nanoseconds(program, kind) for kind in KINDS} for _ in range(_REPEATS)]
        counts = {} if is_missing() else {kind: instructions(program, kind) for kind in KINDS}
    print("\nnanoseconds of processor time for a call and its read")
    for kind, title in KINDS.items():
        report.line(title, spread([times[kind] for times in rounds]).text(1, 2))
    print("\ntimes a global, in the same round, and of the fastest rounds")
    fastest = {kind: min(times[kind] for times in rounds) for kind in KINDS}
    for kind, title in KINDS.items():
        ratios = spread([times[kind] / times["global"] for times in rounds])
        report.line(title, f"{ratios.text(1, 2)}  {fastest[kind] / fastest['global']:.2f}")
    print("\ninstructions for a call and its read, and times a global")
    for kind, count in counts.items():
        report.line(KINDS[kind], f"{count:.2f}  {count / counts['global']:.2f}")
    return report.end()


def build(folder: Path) -> list[str]:
    """The command that runs a kind for a number of loops, without these."""
    library, program = folder / "reads.so", folder / "reads"
    # TLS as distributions compile it on x86-64: __tls_get_addr, not descriptors.
    compile_cpp("reads.cpp", library, "-fPIC", "-fvisibility=hidden", "-mtls-dialect=gnu", "-shared")
    compile_cpp("reads_main.cpp", program)
    return [str(program), str(library)]


def nanoseconds(program: list[str], kind: str) -> float:
    """For a call and its read."""
    done = subprocess.run([*program, kind, str(_LOOPS)], check=True, stdout=subprocess.PIPE, text=True)
    return float(done.stdout)


def instructions(program: list[str], kind: str) -> float:
    """For a call and its read: of twice as many loops, those that are more."""
    once, twice = (run_counted([*program, kind, loops])[0] for loops in (_COUNTED, 2 * _COUNTED))
    return (twice - once) / (_COUNTED * _READS)


if __name__ == "__main__":
    sys.exit(main())
