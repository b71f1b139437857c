"""The libLLVMs of a machine are found by the names of their files, and none is loaded for that."""

from __future__ import annotations

import pathlib
import re
import struct

import pytest
from llvmlite.binding import ffi

from optctx import OptctxError, libllvm
from optctx.libllvm import files


def elf(machine: int = 62) -> bytes:
    """The header of a library."""
    return struct.pack("<4sBB10xHH", b"\x7fELF", 2, 1, 3, machine).ljust(64, b"\0")


@pytest.fixture
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """The one place where libLLVMs are looked for; nothing can load what is there."""
    monkeypatch.setattr(files, "_FOLDERS", (f"{tmp_path}*",))
    monkeypatch.setattr(files, "_LOADER_CACHE", tmp_path / "cache")
    return tmp_path


def test_each_file_is_listed_once_with_the_longest_version_of_its_names(folder: pathlib.Path) -> None:
    (folder / "libLLVM.so.19.1").write_bytes(elf())
    for link in ("libLLVM.so", "libLLVM.so.1", "libLLVM-19.so"):
        (folder / link).symlink_to("libLLVM.so.19.1")
    (folder / "libLLVM-14.so.1").write_bytes(elf())
    (folder / "libLLVM-14.0.6.so").symlink_to("libLLVM-14.so.1")
    for other in ("libLLVMSupport.so.19.1", "libLLVM-C.so", "libLLVM.so.debug"):
        (folder / other).write_bytes(elf())
    (folder / "libLLVM-13.so").symlink_to("nowhere")
    (folder / "libLLVM-12.so").mkdir()
    assert libllvm.installed() == [
        (str(folder / "libLLVM-14.so.1"), "14.0.6", "older than LLVM 16"),
        (str(folder / "libLLVM.so.19.1"), "19.1", ""),
    ]


def test_the_cache_of_the_loader_leads_to_other_folders(folder: pathlib.Path) -> None:
    (folder / "far").mkdir()
    library = folder / "far" / "libLLVM.so"
    library.write_bytes(elf())
    (folder / "cache").write_bytes(f"glibc-ld.so.cache1.1\0libLLVM.so\0{library}\0/no/libLLVM.so\0".encode())
    assert libllvm.installed() == [(str(library), "", "")]


def test_what_cannot_be_used_is_listed_with_its_reason(folder: pathlib.Path) -> None:
    for version, content in {"12": elf(machine=183), "13": elf()[:10], "14": b""}.items():
        (folder / f"libLLVM-{version}.so").write_bytes(content)
    (folder / "libLLVM-20.so").symlink_to(ffi.lib._name)
    found = {each.version: each.problem.partition(":")[0] for each in libllvm.installed()}
    assert found == {
        "12": "not a library for x86-64",
        "13": "cannot be read as a library",
        "14": "cannot be read as a library",
        "20": "",
    }


def test_what_cannot_be_opened_is_one_error(folder: pathlib.Path) -> None:
    def refused(library: str, words: str) -> None:
        with pytest.raises(OptctxError, match=re.escape(words)):
            libllvm.open(library)

    refused("19", "expected one libLLVM of this version, found none (installed: none); give its path")
    for name in ("libLLVM-19.so", "libLLVM.so.19.1"):
        (folder / name).write_bytes(elf())
    both = f"{folder}/libLLVM-19.so (19), {folder}/libLLVM.so.19.1 (19.1)"
    refused("19", f"found {both}; give its path")
    for name in ("1", "191", "19.1.7", "20"):
        refused(name, f"found none (installed: {both}); give its path")
    refused("19.1", "libLLVM.so.19.1 as an LLVM: ")
    (folder / "libLLVM.so.19.1").write_bytes(elf(machine=183))
    refused("19", "libLLVM-19.so as an LLVM: ")  # the one that can be used
    refused(str(folder), "no such file")
    refused(__file__, "invalid ELF header")
    refused(ffi.lib._name, "it does not export LLVM-C, of LLVM 16 or newer")
