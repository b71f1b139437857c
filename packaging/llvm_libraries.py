"""Write evidence/census/libraries.txt: which of LLVM's libraries each of its source files belongs to.

    apt-get download llvm-15-dev llvm-19-dev llvm-22-dev
    for deb in llvm-*-dev_*.deb; do dpkg-deb -x $deb unpacked-${deb%%_*}; done
    python packaging/llvm_libraries.py unpacked-*

Debian's packages hold one archive for each library of LLVM, and an archive holds one object for each source
file. The files of a target begin with its name: those of its code generator, `X86*`, and those that every
target has, `?AsmParser`. All others are named.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import textwrap
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parent.parent
TABLE = ROOT / "evidence" / "census" / "libraries.txt"
# Of tools, which no other program links.
TOOLS = re.compile(r"BOLT|Exegesis|TableGen|Debuginfod|Fuzz|DebugInfod|LibDriver|DlltoolDriver|CFI")
HEAD = """\
# Source files of LLVM 15, 19 and 22 by library, as in Debian's llvm-15-dev, llvm-19-dev and llvm-22-dev.
# packaging/llvm_libraries.py writes this file. `.cpp` is left out.
# X86* are the files that begin so and are in no other line; ? is what stands before a star.
"""
# What every target has beside its code generator.
PARTS = {
    "?AsmParser": {"?AsmParser"},
    "?Desc": {
        *("?AsmBackend", "?ELFObjectWriter", "?ELFStreamer", "?InstPrinter", "?MCAsmInfo", "?MCCodeEmitter"),
        *("?MCExpr", "?MCTargetDesc", "?TargetStreamer"),
    },
    "?Disassembler": {"?Disassembler"},
    "?Info": {"?TargetInfo"},
}
# How the files of a target begin, where that is not with the target's name alone.
BEGINNINGS = {
    "AMDGPU": ("AMDGPU", "GCN", "R600", "SI"),
    "ARM": ("ARM", "MVE", "Thumb"),
    "PowerPC": ("PPC",),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, help="of unpacked packages")
    files: dict[str, set[str]] = {}
    for folder in parser.parse_args().folders:
        archives = sorted(folder.rglob("libLLVM*.a"))
        if not archives:
            raise SystemExit(f"expected libLLVM*.a in {folder}, found none")
        for archive in archives:
            if not TOOLS.search(archive.stem):
                files.setdefault(archive.stem.removeprefix("libLLVM"), set()).update(sources(archive))
    shorten(files)
    TABLE.write_text(HEAD + "".join(lines(library, names) for library, names in sorted(files.items())))


def shorten(files: dict[str, set[str]]) -> None:
    """Leave out what follows from how the files of a target begin. A file of several libraries stays."""
    owners = Counter(name for names in files.values() for name in names)
    targets = [library.removesuffix("CodeGen") for library in files if library.endswith("CodeGen")]
    starts = {start: each for each in filter(None, targets) for start in BEGINNINGS.get(each, (each,))}
    for library, names in files.items():
        names -= {name for name in names if owners[name] == 1 and follows(name, starts) == library}
    for start, target in starts.items():
        files[f"{target}CodeGen"].add(f"{start}*")
    files |= PARTS


def follows(name: str, starts: dict[str, str]) -> str:
    """The library of a file, by how it begins. "" for none."""
    for start, target in starts.items():
        if name.startswith(start):
            rest = f"?{name.removeprefix(start)}"
            part = next((part for part, names in PARTS.items() if rest in names), "?CodeGen")
            return part.replace("?", target)
    return ""


def sources(archive: Path) -> list[str]:
    listed = subprocess.run(["ar", "t", archive], check=True, stdout=subprocess.PIPE, text=True)
    return [name.removesuffix(".o").removesuffix(".cpp") for name in listed.stdout.split()]


def lines(library: str, names: set[str]) -> str:
    folded = textwrap.wrap(" ".join(sorted(names)), 110 - len(library), break_on_hyphens=False)
    return "".join(f"{library}\t{line}\n" for line in folded)


if __name__ == "__main__":
    main()
