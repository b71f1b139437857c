"""The libLLVMs of this machine, by the names of their files."""

from __future__ import annotations

import os
import re
import struct
from glob import glob
from pathlib import Path
from typing import NamedTuple

_FOLDERS = (
    "/usr/lib*",
    "/usr/lib*/*",
    "/usr/lib*/*/lib*",
    "/usr/lib*/*/*/lib*",
    "/usr/local/lib*",
    "/opt/*/lib*",
)
_LOADER_CACHE = Path("/etc/ld.so.cache")
_NAME = re.compile(r"libLLVM(?:-(\d\d[\w.+~-]*?))?\.so(?:\.(\d[\d.]*))?")
_FIRST = 16  # which has LLVMGetVersion
_HEADER = struct.Struct("<4sBB10x2xH44x")  # magic, class, order, machine
_ELF, _64_BITS, _LITTLE, _X86_64 = b"\x7fELF", 2, 1, 62


class Installed(NamedTuple):
    """The file of a libLLVM. `version`: as the names of the file say it, such as "19.1"; empty if none does.

    `problem`: why no scope can reach it, or empty.
    """

    path: str
    version: str
    problem: str


def installed() -> list[Installed]:
    """List the libLLVMs of this machine: those of usual folders and of the loader's cache. Loads none."""
    names = [name for folder in _FOLDERS for name in glob(f"{folder}/libLLVM*.so*")]
    if _LOADER_CACHE.exists():
        names += map(os.fsdecode, re.findall(rb"/[^\0]*/libLLVM[^\0/]*", _LOADER_CACHE.read_bytes()))
    versions: dict[str, set[str]] = {}  # of each file, as its names have them
    for name in names:
        if (match := _NAME.fullmatch(os.path.basename(name))) and os.path.isfile(name):
            versions.setdefault(os.path.realpath(name), set()).add(match[1] or match[2] or "")
    longest = {
        path: max(found, key=lambda text: (text[:2].isdigit(), len(text))) for path, found in versions.items()
    }
    return [Installed(path, version, _problem(path, version)) for path, version in sorted(longest.items())]


def _problem(path: str, version: str) -> str:
    """Say why optctx cannot use a library, as far as its names and its header show it."""
    try:
        with Path(path).open("rb") as file:
            if _HEADER.unpack(file.read(_HEADER.size)) != (_ELF, _64_BITS, _LITTLE, _X86_64):
                return "not a library for x86-64"
    except (OSError, struct.error) as error:
        return f"cannot be read as a library: {error}"
    number = version.partition(".")[0]
    return f"older than LLVM {_FIRST}" if number.isdigit() and int(number) < _FIRST else ""
