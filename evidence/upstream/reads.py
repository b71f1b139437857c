"""What a read of an option costs, as a plain global and through the context."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .programs import CPP, SYSTEM_LIBRARIES, compile_object, headers, patched_includes
from .setup import Setup
from .shell import UpstreamError, run


@dataclass(frozen=True)
class Cost:
    """One way to read an option, called through a pointer."""

    way: str
    where: str
    """`outside` every scope, or `inside` one that has a value."""
    nanoseconds: float
    instructions: float
    """Those of the function that reads, and of what it calls, as Valgrind counts them."""


def measure_reads(setup: Setup) -> list[Cost]:
    """The call alone, the stock global, then the context: linked statically and in shared libraries."""
    support = [setup.objects / "lib" / f"lib{name}.a" for name in ("LLVMSupport", "LLVMDemangle")]
    stock_support = [setup.archives / path.name for path in support]
    stock = [f"-I{setup.llvm / 'include'}"]
    patched = patched_includes(setup)
    main_stock = compile_object(setup, CPP / "bench.cpp", "bench_stock", stock)
    main = compile_object(setup, CPP / "bench.cpp", "bench_context", ["-DCONTEXT", *patched], headers(setup))
    empty = compile_object(setup, CPP / "empty.cpp", "bench_empty", [])
    plain = compile_object(setup, CPP / "read.cpp", "read_stock", stock)
    costs = _run(setup, "call alone", "bench-empty", [main_stock, empty], stock_support)
    costs += _run(setup, "global (stock)", "bench-stock", [main_stock, plain], stock_support)
    static = _read(setup, "static", [])
    costs += _run(setup, "context, static executable", "bench-static", [main, static], support)
    shared = setup.linked / "libbench-support.so"
    whole: list[str | Path] = ["-Wl,--whole-archive", *support, "-Wl,--no-whole-archive"]
    run(["clang++-19", "-shared", "-o", shared, *whole, *SYSTEM_LIBRARIES])
    for way, flag in (
        ("initial-exec", "-ftls-model=initial-exec"),
        ("TLSDESC", "-mtls-dialect=gnu2"),
        ("general-dynamic", "-mtls-dialect=gnu"),
    ):
        library = setup.linked / f"libread-{way}.so"
        run(["clang++-19", "-shared", "-o", library, _read(setup, way, [flag]), shared])
        found = f"-Wl,-rpath,{setup.linked}"
        costs += _run(setup, f"context, shared, {way}", f"bench-{way}", [main, found, library, shared], [])
    return costs


def _read(setup: Setup, way: str, flags: Sequence[str]) -> Path:
    return compile_object(
        setup, CPP / "read.cpp", f"read_{way}", [*patched_includes(setup), *flags], headers(setup)
    )


def _run(
    setup: Setup, way: str, name: str, parts: Sequence[str | Path], archives: Sequence[Path]
) -> list[Cost]:
    program = setup.linked / name
    run(["clang++-19", "-o", program, *parts, *archives, *SYSTEM_LIBRARIES])
    places = ("outside", "inside") if way.startswith("context") else ("outside",)
    return [Cost(way, where, _time(program, where), _count(program, where)) for where in places]


def _time(program: Path, where: str) -> float:
    return float(run([program, where, "15", "20000000"]))


_CALLS = 1000


def _count(program: Path, where: str) -> float:
    """Instructions of a read, what it calls for thread-local storage included."""
    valgrind = [
        "valgrind",
        "--tool=callgrind",
        "--callgrind-out-file=/dev/null",
        "--toggle-collect=readOption",
    ]
    done = subprocess.run([*valgrind, program, where, "1", str(_CALLS)], capture_output=True, text=True)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode or not found:
        raise UpstreamError(f"valgrind could not count what {program.name} does: {done.stderr[-300:]}")
    return int(found[1]) / _CALLS
