"""What the native code asks of Python, and where the built module can be loaded.

Python 3.12 and later build against the limited API. Older ones do not notice what is outside it.
"""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from optctx import _native
from tests.support.cpp_build import ROOT, compile_cpp
from tests.support.installed import FREE_THREADED

# Of manylinux_2_28. auditwheel has the same table. Of libstdc++ nothing is asked: the module has its own.
NEWEST = {"GLIBC": (2, 28), "GCC": (7, 0, 0)}
VERSION = re.compile(r"\((?P<family>[A-Z]+)_(?P<number>[0-9.]+)\)\s+(?P<symbol>\S+)")
FIRST = re.compile(r"\(GLIBC_2\.2\.5\)\s+dlsym$", re.MULTILINE)  # as native/os/older_system.hpp asks for it

SOURCES = [*(ROOT / "native").rglob("*.cpp"), *(ROOT / "native").rglob("*.hpp")]
COMMENTS_AND_TEXTS = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
# What Python's headers define: no member, and nothing of another namespace.
NAMES = re.compile(r"(?<![\w:.>])_?Py[A-Z]?[a-zA-Z]*_\w+")
# In the limited API since 3.12: older headers hide them. From "Stable ABI Contents" in Python's manual.
SINCE_3_12 = {"PyVectorcall_Call", "PyVectorcall_NARGS", "Py_TPFLAGS_HAVE_VECTORCALL"}


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


def compile_uses(names: set[str], folder: Path) -> None:
    """It compiles if the limited API has them all."""
    lines = ["#define Py_LIMITED_API 0x030C0000", "#include <Python.h>", "#include <structmember.h>"]
    for name in sorted(names):
        lines += [f"#ifndef {name}", f"using ::{name};", "#endif"]
    source = folder / "uses.cpp"
    source.write_text("\n".join([*lines, ""]))
    compile_cpp(source, folder / "uses.o", "-fsyntax-only", f"-isystem{sysconfig.get_path('include')}")


@pytest.mark.skipif(
    FREE_THREADED,
    reason="needs a Python with the GIL: modules for others are not built against the limited API",
)
def test_native_code_keeps_to_the_limited_api(tmp_path: Path) -> None:
    texts = [COMMENTS_AND_TEXTS.sub("", file.read_text()) for file in SOURCES]
    names = {name for text in texts for name in NAMES.findall(text)}
    assert {"PyGILState_Ensure", "PyEval_SaveThread"} <= names
    compile_uses(names if sys.version_info >= (3, 12) else names - SINCE_3_12, tmp_path)
    with pytest.raises(AssertionError) as found:  # what is outside is found
        compile_uses({"PyGILState_Check", "PyTuple_GET_ITEM"}, tmp_path)
    for name in ("PyGILState_Check", "PyTuple_GET_ITEM"):
        assert re.search(f"{name}.*has not been declared", str(found.value))
