"""What a portable build has in place of newer glibc's and libstdc++'s does the same."""

from __future__ import annotations

import ctypes

from tests.support.cpp_build import ROOT, SHARED, Build

STANDS_IN = ROOT / "native/os/older_system"


def test_what_stands_in_for_newer_systems_does_the_same(build: Build) -> None:
    flags = (*SHARED, "-O2", "-include", f"{STANDS_IN}.hpp", f"{STANDS_IN}.cpp")
    path = build("older_system.cpp", *flags, standard="c++20")
    check = ctypes.CDLL(str(path)).check
    check.argtypes, check.restype = (ctypes.c_char_p, ctypes.c_long), ctypes.c_int
    assert check(bytes(path), path.stat().st_size) == 0
