"""An LLVM that is linked of LLVM's archives, as researchers link theirs, in scopes and without.

Each test has a child of fork, because a process keeps the LLVMs that it has loaded.
"""

from __future__ import annotations

import asyncio
import gc
import itertools
import pathlib
import re
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any, cast, get_args

import pytest

import optctx
from optctx import OptctxError, OptionContext, libllvm, registry
from optctx.compiling import Emit, FreshProcess, Job, compile_job
from optctx.libllvm import LibLLVM, Module
from tests.optctx.libllvm.beside_fresh import results_on_threads
from tests.support.ir_texts import COUNTED, SCALE, X86
from tests.support.own_llvm import ROOT, error_of, needs_archives
from tests.support.processes import forked, python_process

BROKEN_ASM = 'define void @f() {\n call void asm sideeffect "no_such_instruction", ""()\n ret void\n}'
SOUND = "define void @f() {\n ret void\n}"

pytestmark = needs_archives


@forked
def test_modules_and_machines_without_any_scope(library: str) -> None:
    llvm = libllvm.open(library)
    assert libllvm.open(pathlib.Path(library)) is llvm
    assert llvm.version.startswith("19.1.")
    assert (llvm.path, llvm.image.path) == (library, library)
    with llvm.parse(SCALE) as module, llvm.target_machine() as machine:
        assert "define void @scale(" in str(module)
        llvm.run_passes(module, "default<O3>", machine)
        assert "fmul <" in str(module)
        assert "scale:" in llvm.emit_assembly(module, machine)
        assert llvm.emit_object(llvm.parse(SCALE), machine).startswith(b"\x7fELF")
        assert len({0, module.address, module.context_address, machine.address}) == 4
    module.close()
    for use in (lambda: str(module), lambda: llvm.run_passes(module, "default<O3>"), lambda: machine.address):
        assert " that is closed; make another one" in error_of(use)
    kinds: list[dict[str, Any]] = [{}, {"opt_level": 0}, {"code_model": "large"}, {"reloc": "static"}]
    kinds += [{"cpu": "haswell"}, {"features": "+avx"}, {"triple": "i386-unknown-linux-gnu"}]
    text = SCALE + "@x = internal global i32 0\ndefine ptr @f() {\n ret ptr @x\n}"
    codes = {llvm.emit_object(llvm.parse(text), llvm.target_machine(**kind)) for kind in kinds}
    assert len(codes) == len(kinds)


@forked
def test_what_llvm_refuses_is_an_error_with_its_words(library: str, tmp_path: pathlib.Path) -> None:
    llvm = libllvm.open(library)
    copied = libllvm.open(shutil.copy(library, tmp_path / "copy.so"))
    module, machine, other = llvm.parse(SOUND), llvm.target_machine(X86), copied.parse(SOUND)
    phi = "define void @f() {\n br label %l\nl:\n %p = phi i32 [ 0, %l ]\n ret void\n}"
    expected: dict[str, Callable[[], object]] = {
        "OptctxError: cannot read the module: LLVM says: module:1:8: error: ": lambda: llvm.parse("define i"),
        "OptctxError: cannot use the module: LLVM's verifier refuses it: PHI": lambda: llvm.parse(phi),
        "OptctxError: the IR is UTF-8 without NUL, found ": lambda: llvm.parse("\0"),
        "PassPipelineError: cannot run the pass pipeline 'no': LLVM says: ": partial(
            llvm.run_passes, module, "no"
        ),
        "PassPipelineError: cannot parse the pass pipeline 'function(function(": partial(
            llvm.run_passes, module, "function(" * 200_000
        ),
        "TypeError: expected a Module of optctx.libllvm, found ": partial(
            llvm.run_passes, cast(Module, machine), "sroa"
        ),
        "OptctxError: cannot use a Module of ": partial(llvm.run_passes, other, "sroa"),
        "OptctxError: LLVM refuses the module: <inline asm>:1:2: invalid": lambda: llvm.emit_object(
            llvm.parse(BROKEN_ASM), machine
        ),
        "OptctxError: cannot make a target machine: LLVM says: ": partial(llvm.target_machine, "s390x"),
        "OptctxError: expected reloc to be one of ": partial(llvm.target_machine, reloc="no"),
        "OptctxError: cannot open ": lambda: Job(COUNTED, llvm="/no/libLLVM.so"),
    }
    for words, call in expected.items():
        assert error_of(call).startswith(words), error_of(call)
    assert str(module) == str(llvm.parse(SOUND))
    warned = llvm.parse(COUNTED.replace("label %done\n", "label %done, !llvm.loop !0\n") + UNROLL_IMPOSSIBLE)
    llvm.run_passes(warned, "default<O3>")
    assert [message.partition(": ")[0] for message in warned.messages] == ["warning"]
    assert "the processor 'z80'" in str(compile_job(Job(COUNTED, cpu="z80", llvm=library)).error)
    assert compile_job(Job(COUNTED, cpu="native", llvm=library)).code


# What LLVM is told to do, and cannot: stores are volatile.
UNROLL_IMPOSSIBLE = '!0 = distinct !{!0, !1}\n!1 = !{!"llvm.loop.vectorize.enable", i1 true}\n'


def unrolled(
    llvm: LibLLVM, begin: Callable[[Module], object] = lambda module: None, text: str = COUNTED
) -> int:
    with llvm.parse(text) as module:
        begin(module)
        llvm.run_passes(module, "function(loop-unroll)")
        return str(module).count("store volatile")


@forked
def test_scopes_bindings_and_attributes_reach_it_on_several_threads(library: str) -> None:
    llvm = libllvm.open(library)

    def work(count: int) -> None:
        made = OptionContext(unroll_count=count, image=llvm.image)
        with made:
            assert unrolled(llvm) == count
            llvm.set_option("-unroll-count=1")  # it ends with the scope, as a hook is told

        def begin(module: Module) -> None:
            made.bind(module.context_address)
            optctx.stamp(module.address, made)
            assert OptionContext.from_module(module.address, image=llvm.image) == made

        assert unrolled(llvm, begin) == count
        assert unrolled(llvm) == 1

    async def later() -> int:
        with OptionContext(unroll_count=4, image=llvm.image):
            task = asyncio.create_task(asyncio.to_thread(unrolled, llvm))
        return await task

    with (
        pytest.warns(optctx.ContainmentWarning, match="unroll-count") as heard,
        ThreadPoolExecutor(4) as pool,
    ):
        list(pool.map(work, (2, 3, 4, 5) * 2))
    assert {each.filename for each in heard} == {__file__}
    assert asyncio.run(later()) == 4
    optctx.attach(llvm.image, attributes="error")
    attributed = COUNTED.replace("%out) {", '%out) "optctx"="-unroll-count=3" {')
    assert unrolled(llvm, text=attributed) == 3
    refused = partial(unrolled, llvm, text=attributed.replace("-unroll-count=3", "-disable-lsr"))
    assert "no function can have 'disable-lsr' for itself" in error_of(refused)
    assert unrolled(llvm) == 1
    llvm.set_option("-unroll-count=4")
    assert unrolled(llvm) == registry(llvm.image)["unroll-count"].value == 4


@forked
def test_jobs_compile_with_it_on_threads_as_in_fresh_processes(library: str) -> None:
    kernels = (COUNTED, ""), ((ROOT / "examples" / "kernel.ll").read_text(), "haswell")
    sets = (), ("-unroll-count=2", "-force-vector-width=4")
    jobs = [
        Job(text, options=options, cpu=cpu, emit=emit, llvm=library)
        for (text, cpu), options, emit in itertools.product(kernels, sets, get_args(Emit))
    ]
    jobs += [Job("define", llvm=library), Job(COUNTED, triple="aarch64", llvm=library)]
    image = libllvm.open(library).image
    results = results_on_threads(jobs, image)
    with FreshProcess() as fresh:
        wrong = fresh.compile(Job(COUNTED, options=("-unroll-cunt=4",), llvm=library))
    assert (wrong.end, "Did you mean '--unroll-count=4'" in wrong.stderr) == ("crashed", True)
    assert [bool(result.error) for result in results] == [False] * (len(jobs) - 2) + [True, True]
    assert len(set(results)) > len(jobs) // 2, "the options matter"
    same = Job(COUNTED, "verify", emit="none")
    assert compile_job(replace(same, llvm=library)) == compile_job(same), "the number of instructions"


@forked
def test_what_is_forgotten_is_freed_and_ends_its_binding(library: str) -> None:
    llvm = libllvm.open(library)
    made = OptionContext(unroll_count=4, image=llvm.image)
    for _ in range(3):
        module = llvm.parse(SOUND)
        made.bind(module.context_address)
        with made:
            machine = llvm.target_machine()
        llvm.emit_object(module, machine)
        del module, machine
        gc.collect()
        optctx.detach(llvm.image)  # which no binding may need


@forked
def test_no_mistake_ends_the_process(library: str) -> None:
    llvm = libllvm.open(library)
    for argument in ("unroll-count=4", "-unroll-count=x", "-time-passes=x"):
        assert error_of(partial(llvm.set_option, argument)).startswith("OptionValueError: ")
    refused = 0
    for name in registry(llvm.image):
        for ending in ("", "=", "=x", "=7", "=true", "=-1", "=1.5"):
            try:
                llvm.set_option(f"-{name}{ending}")
            except OptctxError:
                refused += 1
    assert 0 < refused < 7 * len(registry(llvm.image))


def test_the_programs_of_the_guide_print_what_stands_beside_them(library: str) -> None:
    page = (ROOT / "docs" / "guide" / "own-llvm.md").read_text()
    programs, (output,) = (
        re.findall(rf"^```{kind}\n(.*?)^```$", page, re.S | re.M) for kind in ("py", "text")
    )
    assert len(programs) == 2
    program = "\n".join(programs)
    assert "/opt/llvm/lib/libLLVM.so" in program
    done = python_process("-c", program.replace("/opt/llvm/lib/libLLVM.so", library))
    assert (done.returncode, done.stdout, done.stderr) == (0, output, "")
