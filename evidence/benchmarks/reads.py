"""What one read of an option costs, in the forms that were proposed for LLVM, against a global.

Nanoseconds and instructions (callgrind, if valgrind is installed) for a read in a function of its own, the
call included. Compiles its loops with $CXX, or c++.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from evidence.benchmarks._report import Report, spread

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
        counts = {kind: instructions(program, kind) for kind in KINDS} if shutil.which("valgrind") else {}
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
    if not counts:
        print("  not counted: needs valgrind (Debian: apt-get install valgrind)")
    return report.end()


def build(folder: Path) -> list[str]:
    """The command that runs a kind for a number of loops, without these."""
    compiler = (os.environ.get("CXX") or shutil.which("c++") or "g++").split()
    here = Path(__file__).parent
    library, program = folder / "reads.so", folder / "reads"
    # TLS as distributions compile it on x86-64: __tls_get_addr, not descriptors.
    flags = ["-std=c++20", "-O2", "-fPIC", "-fvisibility=hidden", "-mtls-dialect=gnu", "-shared"]
    subprocess.run([*compiler, *flags, here / "reads.cpp", "-o", library], check=True)
    subprocess.run(
        [*compiler, "-std=c++20", "-O2", here / "reads_main.cpp", "-o", program, "-ldl"], check=True
    )
    return [str(program), str(library)]


def nanoseconds(program: list[str], kind: str, loops: int = _LOOPS) -> float:
    """For a call and its read."""
    done = subprocess.run([*program, kind, str(loops)], check=True, stdout=subprocess.PIPE, text=True)
    return float(done.stdout)


def instructions(program: list[str], kind: str) -> float:
    """For a call and its read: of twice as many loops, those that are more."""
    once, twice = (_total(program, kind, loops) for loops in (_COUNTED, 2 * _COUNTED))
    return (twice - once) / (_COUNTED * _READS)


def _total(program: list[str], kind: str, loops: int) -> int:
    with tempfile.TemporaryDirectory() as folder:
        profile = Path(folder, "profile")
        command = [
            "valgrind",
            "--tool=callgrind",
            f"--callgrind-out-file={profile}",
            *program,
            kind,
            str(loops),
        ]
        subprocess.run(command, check=True, capture_output=True)
        found = re.search(r"^totals: (\d+)", profile.read_text(), re.MULTILINE)
    if found is None:
        raise SystemExit("callgrind wrote no total")
    return int(found[1])


if __name__ == "__main__":
    sys.exit(main())
