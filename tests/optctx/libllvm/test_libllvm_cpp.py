"""C++ code that is linked with an LLVM that users build, with scopes of its own."""

from __future__ import annotations

import ctypes
import pathlib

from optctx import OptionContext, libllvm
from optctx.compiling import FreshProcess, Job
from optctx.engine.attach import attach
from tests.support.cpp_build import SHARED, compile_cpp
from tests.support.ir_texts import COUNTED
from tests.support.own_llvm import CONFIG, needs_archives
from tests.support.processes import forked, output_of

PASSES = "function(loop-unroll)"
COUNTS = (2, 3, 4, 5)

pytestmark = needs_archives


def body_of(ir: str) -> str:
    """Without the lines that name the target, which a job's module has."""
    return ir[ir.index("define") :]


@forked
def test_code_without_python_has_scopes_of_its_own_on_its_threads(
    library: str, tmp_path: pathlib.Path
) -> None:
    assert CONFIG is not None
    with FreshProcess() as fresh:
        expected = {
            count: body_of(
                fresh.compile(
                    Job(COUNTED, PASSES, options=(f"-unroll-count={count}",), emit="ir", llvm=library)
                ).ir
                or ""
            )
            for count in (*COUNTS, 6)
        }
    headers = output_of(CONFIG, "--includedir").strip()
    flags = (
        *SHARED,
        f"-isystem{headers}",
        "-Wl,--no-as-needed",
        library,
        f"-Wl,-rpath,{pathlib.Path(library).parent}",
    )
    code = ctypes.CDLL(str(compile_cpp("own_llvm.cpp", tmp_path / "libuser.so", *flags)))
    compile_on_threads = code.compile_on_threads
    compile_on_threads.restype = ctypes.c_char_p
    found: dict[int, tuple[bytes, bytes]] = {}

    @ctypes.CFUNCTYPE(None, ctypes.c_uint, ctypes.c_char_p, ctypes.c_char_p)
    def take(count: int, inside: bytes, outside: bytes) -> None:
        found[count] = inside, outside

    arguments = COUNTED.encode(), PASSES.encode(), (ctypes.c_uint * len(COUNTS))(*COUNTS), len(COUNTS), take
    assert b"has not attached to the library" in compile_on_threads(*arguments)
    llvm = libllvm.open(library)
    attach(llvm.image)
    with OptionContext(unroll_count=6, image=llvm.image), llvm.parse(COUNTED) as module:
        assert compile_on_threads(*arguments) == b""  # none of its threads sees the scope of this one
        llvm.run_passes(module, PASSES)
        assert body_of(str(module)) == expected[6]
    assert {count: body_of(inside.decode()) for count, (inside, _) in found.items()} == {
        count: expected[count] for count in COUNTS
    }
    (outside,) = {outside for _, outside in found.values()}
    assert body_of(outside.decode()) not in expected.values()
