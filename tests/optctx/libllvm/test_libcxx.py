"""A libLLVM that clang has built with libc++ and ThinLTO, as PyPI's karellen-llvm-core has one.

Tests of a whole one take the paths in OPTCTX_LIBCXX_LLVMS, or the one that is installed beside this Python.
"""

from __future__ import annotations

import os
import pathlib
import re
import sys

import pytest

import optctx
from optctx import OptctxError, OptionContext, libllvm, registry
from optctx.compiling import Job, compile_job
from tests.optctx.libllvm.beside_fresh import results_on_threads
from tests.support.audit import audit
from tests.support.cpp_build import SHARED, compile_cpp
from tests.support.ir_texts import COUNTED, SCALE
from tests.support.processes import forked

LIBRARIES = [path for path in os.environ.get("OPTCTX_LIBCXX_LLVMS", "").split(os.pathsep) if path] or [
    str(path)
    for path in sorted(pathlib.Path(sys.prefix, "lib").glob("libLLVM.so.*"))
    if list(path.parent.glob("*/libc++.so.1.0"))
]
SETS = (
    (),
    ("-unroll-count=4",),
    ("-force-vector-width=4", "-regalloc=basic"),
    ("-force-attribute=scale:minsize", "-force-remove-attribute=cold"),
    ("-print-after=a-pass-whose-name-is-no-short-text", "-inline-threshold=0"),
    ("-pass-remarks=unroll", "-align-all-blocks=4"),
    ("-x86-align-branch=jcc+fused+jmp", "-x86-align-branch-boundary=32"),
)


@forked
def test_what_lies_beside_a_library_without_the_name_that_it_needs_is_loaded(tmp_path: pathlib.Path) -> None:
    library, source, far = tmp_path / "libLLVM.so.1", tmp_path / "one.cpp", tmp_path / "lib" / "far"
    far.mkdir(parents=True)

    def build(path: pathlib.Path, text: str, *flags: str) -> str:
        source.write_text(text)
        name = path.name.removesuffix(".0")
        return str(compile_cpp(source, path, *SHARED, f"-Wl,-soname,{name}", "-Wl,--no-as-needed", *flags))

    under = build(far / "libunder++.so.1.0", "int under() { return 1; }")
    over = build(far / "libover.so.1.0", "int under(); int over(); int over() { return under(); }", under)
    build(library, "int over(); int top(); int top() { return over(); }", over)

    def refused(words: str) -> None:
        with pytest.raises(OptctxError, match=re.escape(words)):
            libllvm.open(library)

    refused("it needs libover.so.1, which the loader does not find")
    pathlib.Path(over).rename(tmp_path / "libover.so.1.0")
    refused("it needs libunder++.so.1, which the loader does not find")
    pathlib.Path(under).rename(tmp_path / "lib" / "libunder++.so.1.7")
    refused("it does not export LLVM-C")


@pytest.mark.parametrize(
    "library",
    LIBRARIES
    or [pytest.param("", marks=pytest.mark.skip("needs a libLLVM with libc++ (PyPI: karellen-llvm-core)"))],
)
@forked
def test_scopes_and_bindings_reach_it_as_fresh_processes_have_it(library: str) -> None:
    llvm = libllvm.open(library)
    image = llvm.image
    options = registry(image)
    refused = [name for name, option in options.items() if option.scope == "process"]
    assert len(refused) < 0.03 * len(options), refused
    assert not [name for name in refused if "layout" in options[name].reason]
    jobs = [
        Job(text, options=own, cpu="haswell", emit="object", llvm=library)
        for text in (COUNTED, SCALE)
        for own in SETS
    ]
    assert len({result.code for result in results_on_threads(jobs * 2, image)}) > 6
    with audit(image) as found, OptionContext.from_args(SETS[-1], image=image):
        compile_job(jobs[0])
    assert found.accesses == []
    # The destructor of an LLVMContext is put into every caller.
    module = llvm.parse(COUNTED)
    OptionContext(unroll_count=4, image=image).bind(module.context_address)
    llvm.run_passes(module, "function(loop-unroll)")
    assert str(module).count("store volatile") == 4
    with pytest.raises(optctx.ScopeError, match="bound to 1 LLVMContext"):
        optctx.detach(image)
    module.close()
    optctx.detach(image)
