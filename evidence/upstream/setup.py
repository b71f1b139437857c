"""Where everything is, and whether what the driver needs is installed."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from evidence.shell import StepError, run

VERSION = "19.1.7"
_DEBIAN = {
    "cmake": "cmake",
    "ninja": "ninja-build",
    "clang-19": "clang-19",
    "clang++-19": "clang-19",
    "ar": "binutils",
    "nm": "binutils",
    "ld.gold": "binutils",
    "patch": "patch",
    "dpkg-source": "dpkg-dev",
    "apt-get": "apt",
}
_HEADERS = {"zlib1g": "zlib.h", "libzstd": "zstd.h"}
_TOOLS = ("opt", "llc", "llvm-tblgen", "llvm-config", "FileCheck", "not", "count")


@dataclass(frozen=True)
class Setup:
    """Folders and programs of one run."""

    build: Path
    """Everything the driver makes lies below it."""
    llvm: Path
    """The prefix of Debian's llvm-19-dev, /usr/lib/llvm-19."""

    @property
    def source(self) -> Path:
        return self.build / "source"

    @property
    def objects(self) -> Path:
        return self.build / "obj"

    @property
    def linked(self) -> Path:
        """Archives with replaced members, and programs."""
        return self.build / "linked"

    @property
    def results(self) -> Path:
        return self.build / "results"

    @property
    def logs(self) -> Path:
        return self.build / "logs"

    @property
    def stamps(self) -> Path:
        return self.build / "stamps"

    @property
    def archives(self) -> Path:
        return self.llvm / "lib"

    def tool(self, name: str) -> Path:
        """A program of Debian's LLVM 19."""
        return self.llvm / "bin" / name

    def make_folders(self) -> None:
        for folder in (self.linked, self.results, self.logs, self.stamps):
            folder.mkdir(parents=True, exist_ok=True)


def find_setup(build: Path, llvm: Path) -> Setup:
    """The setup. Raises StepError that names everything that is not installed."""
    packages = {package for program, package in _DEBIAN.items() if not shutil.which(program)}
    packages |= {f"{name}-dev" for name, file in _HEADERS.items() if not Path("/usr/include", file).exists()}
    if not (llvm / "lib" / "libLLVMCore.a").exists() or not (llvm / "include" / "llvm").exists():
        packages.add("llvm-19-dev")
    if any(not (llvm / "bin" / name).exists() for name in _TOOLS):
        packages.add("llvm-19-dev")  # depends on llvm-19 and llvm-19-tools
    if packages:
        raise StepError(
            f"cannot build LLVM {VERSION} against {llvm}: not installed: {', '.join(sorted(packages))}. "
            f"Run `apt-get install {' '.join(sorted(packages))}`, or name another prefix with LLVM="
        )
    found = run([llvm / "bin" / "llvm-config", "--version"]).strip()
    if re.sub(r"[^\d.].*", "", found) != VERSION:
        raise StepError(
            f"{llvm} is LLVM {found}; the patches are for {VERSION}, which Debian 12 has as llvm-19-dev"
        )
    return Setup(build.resolve(), llvm.resolve())
