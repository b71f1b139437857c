"""How often LLVM reads each option in a fixed compile: instructions of the untouched library (callgrind).

The census of the library says which instructions load from an option, store to it or take its address.
callgrind counts how often each ran in an -O3 compile and object emission, in a process that optctx never
attached to.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from llvmlite import binding

from evidence.benchmarks._callgrind import counted, is_missing, run_python_counted
from evidence.benchmarks._module import compile_native, module_text
from evidence.benchmarks._report import Report
from optctx.engine.attach import attach
from optctx.reads.readers import reader_index

_SHOWN = 25


def main() -> int:
    if is_missing():
        return 2
    report = Report("Reads of each option in one compile")
    lines = len(module_text().splitlines())
    print(f"module    {lines} lines of IR, x86-64, default<O3> and object emission")
    with tempfile.TemporaryDirectory() as folder:
        executed, total = _executed(Path(folder, "profile"))
    found, sites = _by_option(executed)
    report.line("instructions executed", f"{total:,}")
    report.line(
        "reads of options", f"{sum(found.values()):,}, {1e6 * sum(found.values()) / total:.0f} per million"
    )
    report.line("options read, instructions that read", f"{len(found):,}, {sites:,}")
    for name, number in found.most_common(_SHOWN):
        report.line(name, f"{number:,}")
    return report.end()


def compile_once() -> None:
    """For a process of its own, under callgrind. Attaches nothing."""
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    compile_native(module_text(), counted())


def _executed(profile: Path) -> tuple[dict[int, int], int]:
    """(address in the library's file -> how often the instruction ran, instructions in all)."""
    run_python_counted(
        *("evidence.benchmarks.read_counts", "compile"),
        flags=("--dump-instr=yes", "--compress-pos=no", "--compress-strings=no"),
        profile=profile,
    )
    library = os.path.basename(attach().image.path)
    executed: dict[int, int] = {}
    total = 0
    for line, own in _costs(profile, library):
        address, *_, cost = line.split()
        total += int(cost)
        if own:
            executed[int(address, 16)] = executed.get(int(address, 16), 0) + int(cost)
    return executed, total


def _costs(profile: Path, library: str) -> Iterator[tuple[str, bool]]:
    """Lines with the cost of an instruction itself, and whether it is the library's."""
    own = called = False
    with profile.open() as lines:
        for line in lines:
            if line.startswith("ob="):
                own = line.rstrip().endswith(library)
            elif line.startswith("calls="):
                called = True  # the next line has what the call cost, the callee's included
            elif line.startswith("0x"):
                if not called:
                    yield line, own
                called = False


def _by_option(executed: dict[int, int]) -> tuple[Counter[str], int]:
    """(option -> reads, number of instructions that read)."""
    engine = attach()
    options, sites = reader_index(engine).options, engine.plan.references.sites
    found: Counter[str] = Counter()
    ran = 0
    for site, reader in zip(sites, engine.plan.readers.by_site, strict=True):
        times = executed.get(site.address - engine.image.base, 0)
        if times and site.reads and reader < len(options) and options[reader]:
            ran += 1
            found.update({option.name: times for option in options[reader]})
    return found, ran


if __name__ == "__main__":
    if sys.argv[1:]:
        compile_once()
    else:
        sys.exit(main())
