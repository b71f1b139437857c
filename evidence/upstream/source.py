"""Debian's source package of LLVM 19, unpacked, patched and configured."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from evidence.conformance.source import default_cache, source_package
from evidence.shell import StepError, run

from .setup import VERSION, Setup
from .stamps import digest, step

PATCHES = Path(__file__).parent / "patches"


def unpack(setup: Setup) -> bool:
    """Downloads the package into `make conformance`'s cache, unpacks it, and applies the series.

    False if the source has it already. Another series begins with nothing built. Raises StepError.
    """
    series = sorted(PATCHES.glob("*.patch"))
    if not series:
        raise StepError(f"no patches in {PATCHES}: is the checkout complete?")

    def work() -> None:
        package = source_package(default_cache())
        if VERSION not in package.name:
            raise StepError(f"apt-get source gave {package.name}; the patches are for {VERSION}")
        for folder in (setup.source, setup.objects):
            shutil.rmtree(folder, ignore_errors=True)
        run(["dpkg-source", "--no-check", "-x", package, setup.source])
        for patch in series:
            run(["patch", "-p1", "--fuzz=0", "--no-backup-if-mismatch", "-i", patch], folder=setup.source)

    return step(setup.stamps, "source", digest(VERSION, *series), setup.source, work)


# As Debian's archives were built, without optional libraries of Support and without other targets.
_OPTIONS = {
    "CMAKE_BUILD_TYPE": "Release",
    "CMAKE_C_COMPILER": "clang-19",
    "CMAKE_CXX_COMPILER": "clang++-19",
    "CMAKE_C_FLAGS_RELEASE": "-O2 -DNDEBUG",
    "CMAKE_CXX_FLAGS_RELEASE": "-O2 -DNDEBUG",
    "LLVM_ABI_BREAKING_CHECKS": "FORCE_OFF",
    "LLVM_APPEND_VC_REV": "OFF",
    "LLVM_ENABLE_ASSERTIONS": "OFF",
    "LLVM_ENABLE_CURL": "OFF",
    "LLVM_ENABLE_LIBEDIT": "OFF",
    "LLVM_ENABLE_LIBXML2": "OFF",
    "LLVM_ENABLE_RTTI": "ON",
    "LLVM_ENABLE_Z3_SOLVER": "OFF",
    "LLVM_ENABLE_ZLIB": "FORCE_ON",
    "LLVM_ENABLE_ZSTD": "OFF",
    "LLVM_HOST_TRIPLE": "x86_64-pc-linux-gnu",
    "LLVM_INCLUDE_BENCHMARKS": "OFF",
    "LLVM_INCLUDE_DOCS": "OFF",
    "LLVM_INCLUDE_EXAMPLES": "OFF",
    "LLVM_TARGETS_TO_BUILD": "X86",
}


def configure(setup: Setup) -> bool:
    """Runs CMake. False if the build folder is configured so already."""
    tblgen = str(setup.tool("llvm-tblgen"))
    options = {**_OPTIONS, "LLVM_TABLEGEN": tblgen, "LLVM_HEADERS_TABLEGEN": tblgen}
    launcher = os.environ.get("CMAKE_CXX_COMPILER_LAUNCHER", "ccache" if shutil.which("ccache") else "")
    if launcher:
        options |= {"CMAKE_C_COMPILER_LAUNCHER": launcher, "CMAKE_CXX_COMPILER_LAUNCHER": launcher}
    words = [f"-D{name}={value}" for name, value in sorted(options.items())]
    state = digest(words, str(setup.source))

    def work() -> None:
        shutil.rmtree(setup.objects, ignore_errors=True)
        cmake: list[str | Path] = ["cmake", "-G", "Ninja", "-S", setup.source / "llvm", "-B", setup.objects]
        run([*cmake, *words], log=setup.logs / "configure.log")

    return step(setup.stamps, "configure", state, setup.objects / "build.ninja", work)
