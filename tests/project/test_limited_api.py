"""Python 3.12 and later build against the limited API. Older ones do not notice what is outside it."""

from __future__ import annotations

import pathlib
import re
import sys
import sysconfig

import pytest

from tests.support.cpp_build import ROOT, compile_cpp
from tests.support.installed import FREE_THREADED

NATIVE = [*(ROOT / "native").rglob("*.cpp"), *(ROOT / "native").rglob("*.hpp")]
COMMENTS_AND_TEXTS = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
# What Python's headers define: no member, and nothing of another namespace.
NAMES = re.compile(r"(?<![\w:.>])_?Py[A-Z]?[a-zA-Z]*_\w+")
# In the limited API since 3.12: older headers hide them. From "Stable ABI Contents" in Python's manual.
SINCE_3_12 = {"PyVectorcall_Call", "PyVectorcall_NARGS", "Py_TPFLAGS_HAVE_VECTORCALL"}


def names_used() -> set[str]:
    return {name for file in NATIVE for name in NAMES.findall(COMMENTS_AND_TEXTS.sub("", file.read_text()))}


def uses(names: set[str]) -> str:
    """A source that compiles if the limited API has them all."""
    lines = ["#define Py_LIMITED_API 0x030C0000", "#include <Python.h>", "#include <structmember.h>"]
    for name in sorted(names):
        lines += [f"#ifndef {name}", f"using ::{name};", "#endif"]
    return "\n".join([*lines, ""])


def compile_uses(names: set[str], folder: pathlib.Path) -> None:
    source = folder / "uses.cpp"
    source.write_text(uses(names))
    compile_cpp(source, folder / "uses.o", "-c", f"-isystem{sysconfig.get_path('include')}")


@pytest.mark.skipif(
    FREE_THREADED,
    reason="needs a Python with the GIL: modules for others are not built against the limited API",
)
def test_native_code_keeps_to_the_limited_api(tmp_path: pathlib.Path) -> None:
    names = names_used()
    assert {"PyGILState_Ensure", "PyEval_SaveThread"} <= names
    compile_uses(names if sys.version_info >= (3, 12) else names - SINCE_3_12, tmp_path)
    with pytest.raises(AssertionError) as found:  # what is outside is found
        compile_uses({"PyGILState_Check", "PyTuple_GET_ITEM"}, tmp_path)
    for name in ("PyGILState_Check", "PyTuple_GET_ITEM"):
        assert re.search(f"{name}.*has not been declared", str(found.value))
