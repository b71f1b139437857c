"""Instructions executed by an -O3 compile and object emission, counted by callgrind.

The untouched library is the baseline; the same work runs attached, outside and inside a context whose
overrides do not change the code; the same while compilations outside every scope are refused; while it is
recorded what is read; and beside a thread that records.
Every run is a fresh process.

    python -m evidence.benchmarks.instructions            # of llvmlite's LLVM
    python -m evidence.benchmarks.instructions 22         # of a libLLVM, as `optctx.libllvm.open` takes it
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import mmap
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

from llvmlite import binding

from evidence.benchmarks._module import module_text
from evidence.benchmarks._report import Report, Spread, spread
from optctx import OptionContext, attach, emit_object, libllvm, record, run_passes

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
_CALLGRIND = (
    "valgrind",
    "--tool=callgrind",
    "--instr-atstart=no",
    "--smc-check=all",  # attaching changes code
    "--vex-iropt-register-updates=allregs-at-mem-access",  # recording looks at registers in a handler
)
# A client request (valgrind.h, amd64): rax points at six words, the request first; a plain processor runs
# the rotations and the exchange as a long no-op. It changes rdx.
_REQUEST = bytes.fromhex("31d2 48c1c703 48c1c70d 48c1c73d 48c1c733 4887db")  # xor edx, edx; ...
_START, _STOP = 0x43540004, 0x43540005  # callgrind.h: CALLGRIND_{START,STOP}_INSTRUMENTATION
_RAX_IS_FIRST, _RETURN = bytes.fromhex("4889f8"), bytes.fromhex("c3")  # mov rax, rdi; ret
# Values that LLVM has anyway, of options that this compile reads.
_OVERRIDES = {
    "memdep-block-scan-limit": 100,
    "available-load-scan-limit": 6,
    "licm-max-num-uses-traversed": 8,
    "x86-early-ifcvt": False,
    "max-sched-reorder": 6,
}


def main(path: str = "") -> int:
    if shutil.which("valgrind") is None:
        print("needs valgrind (Debian: apt-get install valgrind)", file=sys.stderr)
        return 2
    report = Report("Instructions executed by -O3 and object emission")
    print(f"module    {len(module_text().splitlines())} lines of IR, x86-64, default<O3>")
    # Nothing can be raised from calls of a program's own.
    states = [state for state in _STATES if not (path and "refused" in state)]
    counts: dict[str, list[int]] = {state: [] for state in states}
    objects = set()
    for _ in range(_REPEATS):
        for state in states:
            count, said = _run_counted(state, path)
            counts[state].append(count)
            objects.add(said)
    for state in states:
        report.line(f"{state}, millions", spread(counts[state]).text(1e-6))
    for state, baseline, limit in _LIMITS:
        if state not in states:
            continue
        base = spread(counts[baseline]).median
        ratio: Spread = spread([count / base for count in counts[state]])
        report.line(f"{state} / {baseline}", ratio.text(1, 5))
        report.target(f"{state} / {baseline}, median", ratio.median, limit)
    report.target("different objects", len(objects), 1)
    return report.end()


def _run_counted(state: str, path: str) -> tuple[int, str]:
    """(instructions inside `_counted`, standard output) of a process in a state, under callgrind."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "profile")
        own = [sys.executable, "-m", "evidence.benchmarks.instructions", state, path]
        done = subprocess.run(
            [*_CALLGRIND, f"--callgrind-out-file={file}", *own], capture_output=True, text=True
        )
        if done.returncode:
            raise SystemExit(f"{' '.join(own)} failed:\n{done.stderr}")
        found = re.search(r"^totals: (\d+)", file.read_text(), re.MULTILINE)
    if found is None:
        raise SystemExit(f"callgrind wrote no total:\n{done.stderr}")
    return int(found[1]), done.stdout


def run(state: str, path: str) -> None:
    """Compiles once and prints what came out; for a process of its own, under callgrind."""
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    llvm = libllvm.open(path) if path else None
    image = llvm.image if llvm else None
    context: AbstractContextManager[object] = contextlib.nullcontext()
    if state != "untouched":
        attach(image, outside="error" if "refused" in state else "allow")
    if state.startswith("inside"):
        context = OptionContext(_OVERRIDES, image=image)
    if state.startswith("beside"):
        inside = partial(record, image) if state == "beside a recording" else contextlib.nullcontext
        context = _another_thread(llvm, inside)
    with context:
        _compile(llvm, module_text(1))  # what LLVM and Python do once in a process
        with record(image) if state == "recording" else contextlib.nullcontext():
            code = _compile(llvm, module_text(), _counted())
    print(len(code), hashlib.sha256(code).hexdigest())


def _compile(
    llvm: libllvm.LibLLVM | None, text: str, counting: AbstractContextManager[object] | None = None
) -> bytes:
    """Compile a module with default<O3> to an object, inside `counting` once it is read."""
    if llvm is not None:
        with llvm.parse(text) as own, llvm.target_machine(opt_level=3) as its:
            own.take_target(its)
            with counting or contextlib.nullcontext():
                llvm.run_passes(own, "default<O3>", its)
                return llvm.emit_object(own, its)
    machine = binding.Target.from_default_triple().create_target_machine(opt=3)
    with binding.parse_assembly(text, binding.create_context()) as module:
        module.data_layout = str(machine.target_data)
        module.triple = machine.triple
        with counting or contextlib.nullcontext():
            run_passes(module, "default<O3>", target_machine=machine)
            return emit_object(module, machine)


@contextlib.contextmanager
def _counted() -> Iterator[None]:
    """Count what runs inside, and what Python does there, under callgrind. Elsewhere it has no effect."""
    page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(_RAX_IS_FIRST + _REQUEST + _RETURN)
    memory = ctypes.c_char.from_buffer(page)
    request = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(ctypes.addressof(memory))
    start, stop = ((ctypes.c_uint64 * 6)(code) for code in (_START, _STOP))
    request(start)
    try:
        yield
    finally:
        request(stop)


@contextlib.contextmanager
def _another_thread(
    llvm: libllvm.LibLLVM | None, inside: Callable[[], AbstractContextManager[object]]
) -> Iterator[None]:
    begun, done = threading.Event(), threading.Event()

    def work() -> None:
        with inside():
            _compile(llvm, module_text(1))
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
    if sys.argv[1:] and sys.argv[1] in _STATES:
        run(*sys.argv[1:])
    else:
        sys.exit(main(*sys.argv[1:]))
