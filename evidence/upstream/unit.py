"""LLVM's unit tests of CommandLine, unmodified, and the series' own, run on the patched Support."""

from __future__ import annotations

import re

from evidence.shell import StepError, run

from .build import Builder
from .programs import CPP, compile_object, link, patched_includes
from .setup import Setup

_FILES = ("CommandLineTest", "OptionContextTest", "ThreadPool", "ParallelTest", "CrashRecoveryTest")
_OBJECTS = "unittests/Support/CMakeFiles/SupportTests.dir"
_MAIN = "third-party/unittest/UnitTestMain/CMakeFiles/llvm_gtest_main.dir/TestMain.cpp.o"


def run_unit(setup: Setup, builder: Builder) -> tuple[int, int]:
    """Builds Support and the tests; how many of LLVM's and of the series' pass. Raises StepError."""
    objects = [f"{_OBJECTS}/{name}.cpp.o" for name in _FILES]
    libraries = ["LLVMSupport", "LLVMDemangle", "LLVMTestingSupport", "llvm_gtest"]
    builder.ninja([*libraries, "llvm_gtest_main", *objects], "unit")
    parts = [setup.objects / name for name in (*objects, _MAIN)]
    archives = [setup.objects / "lib" / f"lib{name}.a" for name in libraries]
    program = link(setup, "unit", parts, [*archives, setup.archives / "libLLVMTargetParser.a"])
    # Apart: CommandLine's own tests unregister every option that exists.
    stock, contexts = (run([program, f"--gtest_filter={sign}OptionContext*"]) for sign in ("-", ""))
    return passed_tests(stock), passed_tests(contexts)


def passed_tests(said: str) -> int:
    """How many tests GoogleTest says passed. Raises StepError if one failed."""
    found = re.search(r"\[  PASSED  \] (\d+) tests?", said)
    if not found or "[  FAILED  ]" in said:
        raise StepError(f"unit tests said: {' '.join(said.split())[-400:]}")
    return int(found[1])


def run_layout(setup: Setup) -> int:
    """How many sizes and offsets are the same under stock and patched headers. Raises StepError."""
    stock_flags = [f"-I{setup.llvm / 'include'}"]
    stock = compile_object(setup, CPP / "layout.cpp", "layout_stock", stock_flags)
    patched = compile_object(setup, CPP / "layout.cpp", "layout_patched", patched_includes(setup))
    support = [setup.objects / "lib" / f"lib{name}.a" for name in ("LLVMSupport", "LLVMDemangle")]
    # Nothing of the library runs: any Support does.
    said = [
        run([link(setup, f"layout-{name}", [made], support)]).splitlines()
        for name, made in (("stock", stock), ("patched", patched))
    ]
    for before, after in zip(*said, strict=True):
        if before != after:
            raise StepError(f"the layout changed: stock {before!r}, patched {after!r}")
    return len(said[0])
