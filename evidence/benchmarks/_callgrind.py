"""Counting the instructions of programs, or of a stretch of Python code, under callgrind."""

from __future__ import annotations

import ctypes
import mmap
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

# A client request (valgrind.h, amd64): rax points at six words, the request first; a plain processor runs
# the rotations and the exchange as a long no-op. It changes rdx.
_REQUEST = bytes.fromhex("31d2 48c1c703 48c1c70d 48c1c73d 48c1c733 4887db")  # xor edx, edx; ...
_START, _STOP = 0x43540004, 0x43540005  # callgrind.h: CALLGRIND_{START,STOP}_INSTRUMENTATION
_RAX_IS_FIRST, _RETURN = bytes.fromhex("4889f8"), bytes.fromhex("c3")  # mov rax, rdi; ret


def is_missing() -> bool:
    """Whether there is no valgrind, and say so."""
    missing = shutil.which("valgrind") is None
    if missing:
        print("needs valgrind (Debian: apt-get install valgrind)", file=sys.stderr)
    return missing


def run_counted(command: Iterable[object], *flags: str, profile: Path | None = None) -> tuple[int, str]:
    """(instructions, standard output) of a command. `profile`: where callgrind's file is to stay."""
    with tempfile.TemporaryDirectory() as folder:
        file = profile or Path(folder, "profile")
        words = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={file}", *flags, *map(str, command)]
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{' '.join(words)} failed:\n{done.stderr}")
        found = re.search(r"^totals: (\d+)", file.read_text(), re.MULTILINE)
    if found is None:
        raise SystemExit(f"callgrind wrote no total:\n{done.stderr}")
    return int(found[1]), done.stdout


def run_python_counted(
    module: str, *arguments: str, flags: Iterable[str] = (), profile: Path | None = None
) -> tuple[int, str]:
    """As `run_counted`, of `python -m module arguments...` inside its blocks of `counted`."""
    own = (
        "--instr-atstart=no",
        "--smc-check=all",  # attaching changes code
        "--vex-iropt-register-updates=allregs-at-mem-access",  # recording looks at registers in a handler
    )
    return run_counted([sys.executable, "-m", module, *arguments], *own, *flags, profile=profile)


@contextmanager
def counted() -> Iterator[None]:
    """Count what runs inside, and what Python does there, under callgrind with --instr-atstart=no.

    Elsewhere it has no effect.
    """
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
