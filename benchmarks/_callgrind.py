"""Counting the instructions of a stretch of Python code under callgrind, and reading the count."""

from __future__ import annotations

import ctypes
import mmap
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["counted", "run_counted"]

# A client request (valgrind.h, amd64): rax points at six words, the request first; a plain processor runs
# the rotations and the exchange as a long no-op.
_REQUEST = bytes.fromhex(
    "4889f8"  # mov rax, rdi
    "31d2"  # xor edx, edx
    "48c1c703 48c1c70d 48c1c73d 48c1c733 4887db"
    "4889d0"  # mov rax, rdx
    "c3"
)
_START, _STOP = 0x43540004, 0x43540005  # callgrind.h: CALLGRIND_{START,STOP}_INSTRUMENTATION


@contextmanager
def counted() -> Iterator[None]:
    """Counts what runs inside; has no effect outside callgrind."""
    with mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC) as page:
        page.write(_REQUEST)
        memory = ctypes.c_char.from_buffer(page)
        request = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p)(ctypes.addressof(memory))
        start, stop = ((ctypes.c_uint64 * 6)(code) for code in (_START, _STOP))
        request(start)
        try:
            yield
        finally:
            request(stop)
            del memory  # or the page could not be closed


def run_counted(module: str, *arguments: str) -> tuple[int, str]:
    """(instructions, standard output) of `python -m module arguments...` under callgrind."""
    with tempfile.TemporaryDirectory() as folder:
        profile = Path(folder, "profile")
        command = [
            "valgrind",
            "--tool=callgrind",
            "--instr-atstart=no",
            "--smc-check=all",  # attaching changes code
            "--vex-iropt-register-updates=allregs-at-mem-access",  # recording looks at registers in a handler
            f"--callgrind-out-file={profile}",
            sys.executable,
            "-m",
            module,
            *arguments,
        ]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
        found = re.search(r"^totals: (\d+)", profile.read_text(), re.MULTILINE)
        if found is None:
            raise SystemExit(f"callgrind wrote no total:\n{done.stderr}")
        return int(found[1]), done.stdout
