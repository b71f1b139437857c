"""The native module has a C++ runtime of its own, whatever another library of the process is linked with."""

from __future__ import annotations

import os
import sys

import pytest

from tests.support.cpp_build import ROOT, SHARED, Build
from tests.support.installed import SANITIZED
from tests.support.processes import output_of

# Errors that native code throws, and those of nanobind.
PROGRAM = """
import llvmlite.binding as llvm
import optctx
from optctx import _native
from optctx.engine.attach import attach

failed = []
def fails(what, error, attempt, *arguments, **named):
    try:
        attempt(*arguments, **named)
    except error:
        return
    failed.append(what)

attach()
OptionContext = optctx.OptionContext
fails("a fatal value", optctx.OptionValueError, OptionContext, {"pass-remarks": "["})
fails("leaving", optctx.ScopeError, OptionContext().__exit__, None, None, None)
fails("memory that is not there", RuntimeError, _native.read_checked, 8, 8, "")
fails("a pointer that is not aligned", RuntimeError, _native.SharedPointers, [(9, 0, 0)])
fails("an argument", TypeError, _native.is_attached, "x")
fails("a pipeline", optctx.PassPipelineError, optctx.run_passes, llvm.parse_assembly(""), "no-such-pass")
assert not failed, failed

# What one of the two allocates and the other one frees.
for _ in range(20):
    with OptionContext({"print-after": ["a", "b"], "force-attribute": ["f:cold"], "pass-remarks": "x"}):
        with optctx.contained():
            for text in ("c", "d" * 100):
                llvm.set_option("", f"-print-after={text}")
                llvm.set_option("", f"-pgo-test-profile-file={text}")
    with optctx.tool(["-print-after=e"]):
        pass
llvm.set_option("", "-print-after=f")
assert optctx.drift()
print(optctx.current()["print-after"])
"""


@pytest.mark.skipif(SANITIZED, reason="needs a build without sanitizer, which has one for the process")
def test_errors_and_memory_are_right_beside_another_runtime(build: Build) -> None:
    """The other library comes first, as with LD_PRELOAD or RTLD_GLOBAL."""
    environment = {**os.environ, "LD_PRELOAD": str(build("other_runtime.cpp", *SHARED, "-Wl,-Bsymbolic"))}
    assert output_of(sys.executable, "-W", "error", "-c", PROGRAM, cwd=ROOT, env=environment) == "['f']\n"
