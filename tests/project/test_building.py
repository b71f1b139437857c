"""Where the built module can be loaded. That it keeps to the limited API is what building for 3.12 shows."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess

import pytest

from optctx import _native

# Of manylinux_2_28. auditwheel has the same table. Of libstdc++ nothing is asked: the module has its own.
NEWEST = {"GLIBC": (2, 28), "GCC": (7, 0, 0)}
VERSION = re.compile(r"\((?P<family>[A-Z]+)_(?P<number>[0-9.]+)\)\s+(?P<symbol>\S+)")
FIRST = re.compile(r"\(GLIBC_2\.2\.5\)\s+dlsym$", re.MULTILINE)  # as native/os/older_system.hpp asks for it


@pytest.mark.skipif(shutil.which("objdump") is None, reason="needs objdump (binutils)")
def test_the_module_is_loaded_by_systems_of_manylinux_2_28() -> None:
    glibc = tuple(map(int, platform.libc_ver()[1].split(".")))
    if glibc > (2, 36):
        pytest.skip("wheels are built beside glibc 2.36 or in manylinux_2_28, and this glibc is newer")
    command = ["objdump", "--dynamic-syms", _native.__file__]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    if not FIRST.search(printed):
        pytest.skip("built without OPTCTX_PORTABLE, which `make` and `make wheels` set")
    needed = [each for line in printed.splitlines() if "*UND*" in line for each in VERSION.finditer(line)]
    assert {each["family"] for each in needed} == {*NEWEST}
    too_new = [
        each[0] for each in needed if tuple(map(int, each["number"].split("."))) > NEWEST[each["family"]]
    ]
    assert not too_new, f"no system of manylinux_2_28 has {too_new}: see native/os/older_system.cpp"
