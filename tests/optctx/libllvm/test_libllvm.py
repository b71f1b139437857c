"""An LLVM that is linked of LLVM's archives, as researchers link theirs, in scopes and without.

Each test has a child of fork, because a process keeps the LLVMs that it has loaded.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import itertools
import pathlib
import random
import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Any, get_args

import llvmlite.binding
import pytest

import optctx
from optctx import OptctxError, OptionContext, libllvm, registry
from optctx.compiling import Emit, FreshProcess, Job, Result, compile_job
from optctx.engine.attach import attach
from tests.support.audit import audit
from tests.support.ir_texts import COUNTED, SCALE, X86
from tests.support.own_llvm import (
    OTHER,
    ROOT,
    compiled,
    error_of,
    in_new_process,
    link,
    needs_archives,
    set_by_llvm,
)
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
        addresses = {module.address, module.context_address, machine.address}
        assert 0 not in addresses
        assert len(addresses) == 3
    module.close()
    for use in (lambda: str(module), lambda: llvm.run_passes(module, "default<O3>"), lambda: machine.address):
        assert " that is closed; make another one" in error_of(use)
    assert "vmulss" in llvm.emit_assembly(llvm.parse(SCALE), llvm.target_machine(features="+avx"))
    kinds: list[dict[str, Any]] = [{"opt_level": 3}, {"opt_level": 0}, {"code_model": "large"}]
    kinds += [{"cpu": "haswell"}, {"triple": "i386-unknown-linux-gnu"}]
    codes = {llvm.emit_object(llvm.parse(SCALE), llvm.target_machine(**kind)) for kind in kinds}
    assert len(codes) == len(kinds)
    own = "@x = internal global i32 0\ndefine ptr @f() {\n ret ptr @x\n}"
    relocs = {
        llvm.emit_object(llvm.parse(own), llvm.target_machine(reloc=reloc)) for reloc in ("pic", "static")
    }
    assert len(relocs) == 2


@forked
def test_what_llvm_refuses_is_an_error_with_its_words(library: str, tmp_path: pathlib.Path) -> None:
    llvm = libllvm.open(library)
    copied = libllvm.open(shutil.copy(library, tmp_path / "copy.so"))
    module, machine = llvm.parse(SOUND), llvm.target_machine(X86)
    phi = "define void @f() {\n br label %l\nl:\n %p = phi i32 [ 0, %l ]\n ret void\n}"
    expected = {
        "OptctxError: cannot read the module: LLVM says: module:1:8: error: ": lambda: llvm.parse("define i"),
        "OptctxError: cannot use the module: LLVM's verifier refuses it: PHI": lambda: llvm.parse(phi),
        "OptctxError: the IR is UTF-8 without NUL, found ": lambda: llvm.parse("\0"),
        "PassPipelineError: cannot run the pass pipeline 'no': LLVM says: unknown pass name 'no'": (
            lambda: llvm.run_passes(module, "no")
        ),
        "TypeError: expected a Module of optctx.libllvm, found TargetMachine": (
            lambda: llvm.run_passes(machine, "default<O3>")  # type: ignore[arg-type]
        ),
        f"OptctxError: cannot use a Module of {copied.path} with {llvm.path}": (
            lambda: llvm.run_passes(copied.parse(SOUND), "default<O3>")
        ),
        "OptctxError: LLVM refuses the module: <inline asm>:1:2: invalid instruction mnemonic": (
            lambda: llvm.emit_object(llvm.parse(BROKEN_ASM), machine)
        ),
        "OptctxError: cannot make a target machine: LLVM says: No available targets are compatible with": (
            lambda: llvm.target_machine("s390x")
        ),
        "OptctxError: expected reloc to be one of 'default', 'static', ": lambda: llvm.target_machine(
            reloc="no"
        ),
    }
    for words, call in expected.items():
        assert error_of(call).startswith(words), error_of(call)
    assert str(module) == str(llvm.parse(SOUND))
    warned = llvm.parse(COUNTED.replace("label %done\n", "label %done, !llvm.loop !0\n") + UNROLL_IMPOSSIBLE)
    llvm.run_passes(warned, "default<O3>")
    assert [message.partition(": ")[0] for message in warned.messages] == ["warning"]


# What LLVM is told to do, and cannot: stores are volatile.
UNROLL_IMPOSSIBLE = '!0 = distinct !{!0, !1}\n!1 = !{!"llvm.loop.vectorize.enable", i1 true}\n'


@forked
def test_scopes_and_bindings_reach_it_on_several_threads(library: str) -> None:
    llvm, counts = libllvm.open(library), (2, 3, 4, 5)
    expected = {
        count: in_new_process(llvm, COUNTED, partial(set_by_llvm, llvm, [f"-unroll-count={count}"]))
        for count in counts
    }
    outside = compiled(llvm, COUNTED)
    assert len({outside, *expected.values()}) == 5

    def work(count: int) -> None:
        made = OptionContext(unroll_count=count, image=llvm.image)
        with made:
            assert compiled(llvm, COUNTED) == expected[count]
            llvm.set_option("-unroll-count=1")  # it ends with the scope, as a hook is told
        with llvm.parse(COUNTED) as module:
            made.bind(module.context_address)
            optctx.stamp(module.address, made)
            assert OptionContext.from_module(module.address, image=llvm.image) == made
            llvm.run_passes(module, "function(loop-unroll)")
            assert str(module).count("store volatile") == count
        assert compiled(llvm, COUNTED) == outside

    async def later() -> str:
        with OptionContext(unroll_count=4, image=llvm.image):
            task = asyncio.create_task(asyncio.to_thread(compiled, llvm, COUNTED))
        return await task

    with (
        pytest.warns(optctx.ContainmentWarning, match="unroll-count") as heard,
        ThreadPoolExecutor(4) as pool,
    ):
        list(pool.map(work, counts * 2))
    assert {each.filename for each in heard} == {__file__}
    assert asyncio.run(later()) == expected[4]
    assert compiled(llvm, COUNTED) == outside
    llvm.set_option("-unroll-count=3")
    llvm.set_option("-unroll-count=4")
    assert compiled(llvm, COUNTED) == expected[4]
    assert registry(llvm.image)["unroll-count"].value == 4


@forked
def test_jobs_compile_with_it_on_threads_as_in_fresh_processes(library: str) -> None:
    kernels = (COUNTED, ""), ((ROOT / "examples" / "kernel.ll").read_text(), "haswell")
    sets = (), ("-unroll-count=4",), ("-unroll-count=2", "-force-vector-width=4")
    jobs = [
        Job(text, options=options, cpu=cpu, emit=emit, llvm=library)
        for (text, cpu), options, emit in itertools.product(kernels, sets, get_args(Emit))
    ]
    image = libllvm.open(library).image

    def both(job: Job) -> tuple[Result, Result]:
        with OptionContext.from_args(job.options, image=image):
            return compile_job(replace(job, options=())), fresh.compile(job)

    with FreshProcess() as fresh, ThreadPoolExecutor(4) as pool:
        results = list(pool.map(both, jobs))
    assert [job for job, (thread, alone) in zip(jobs, results, strict=True) if thread != alone] == []
    assert {thread.error for thread, _ in results} == {None}
    outputs: dict[object, set[object]] = {(job.ir, job.cpu, job.emit): set() for job in jobs}
    for job, (thread, _) in zip(jobs, results, strict=True):
        outputs[job.ir, job.cpu, job.emit].add((thread.ir, thread.code, thread.instructions))
    assert min(map(len, outputs.values())) >= 2, "the options matter"
    same = Job(COUNTED, "verify", emit="none")
    assert compile_job(replace(same, llvm=library)) == compile_job(same), "the number of instructions"


@forked
def test_what_is_wrong_with_a_job_is_its_error(library: str) -> None:
    with FreshProcess() as fresh:
        for job, says in [
            (Job("define", llvm=library), "cannot read the module: LLVM says: "),
            (Job(COUNTED, cpu="z80", llvm=library), "the processor 'z80'"),
            (Job(COUNTED, triple="aarch64", llvm=library), "cannot make a target machine: LLVM says: "),
        ]:
            assert says in str(compile_job(job).error)
            assert says in str(fresh.compile(job).error)
        wrong = fresh.compile(Job(COUNTED, options=("-unroll-cunt=4",), llvm=library))
        assert (wrong.end, "Did you mean '--unroll-count=4'" in wrong.stderr) == ("crashed", True)
    native = Job(COUNTED, cpu="native", llvm=library)
    assert compile_job(native).code
    assert native.cpu != "native"
    assert "no such file" in error_of(lambda: Job(COUNTED, llvm="/no/libLLVM.so"))


@forked
def test_no_read_is_missed(library: str) -> None:
    llvm = libllvm.open(library)
    with (
        audit(llvm.image) as seen,
        OptionContext(unroll_count=4, regalloc="basic", image=llvm.image),
    ):
        compiled(llvm, COUNTED)
    assert seen.accesses == []
    assert seen.neighbours > 1_000
    option = attach(llvm.image).options["unroll-count"]
    with audit(llvm.image) as seen, OptionContext(unroll_count=4, image=llvm.image):
        ctypes.c_uint.from_address(option.place.address).value  # noqa: B018  as a missed instruction
    assert [(access.option, access.count) for access in seen.accesses] == [("unroll-count", 1)]


@forked
def test_three_llvms_in_nested_scopes_each_read_their_own(library: str) -> None:
    """Beside llvmlite's, two that differ in how they are linked."""
    other = link(*OTHER)
    first, second = libllvm.open(library), libllvm.open(other)
    images: tuple[Any, ...] = (None, first.image, second.image)

    def unrolled() -> tuple[int, ...]:
        module = llvmlite.binding.parse_assembly(COUNTED, llvmlite.binding.create_context())
        optctx.run_passes(module, "loop-unroll")
        texts = [str(module)]
        for llvm in (first, second):
            with llvm.parse(COUNTED) as own:
                llvm.run_passes(own, "function(loop-unroll)")
                texts.append(str(own))
        return tuple(text.count("store volatile") for text in texts)

    outside = unrolled()

    def work(seed: int) -> None:
        draw = random.Random(seed)
        expected = list(outside)
        with ExitStack() as scopes:
            for place in draw.choices(range(3), k=4):
                expected[place] = draw.choice((2, 3, 4, 5))
                scopes.enter_context(OptionContext(unroll_count=expected[place], image=images[place]))
                assert unrolled() == tuple(expected)
        assert unrolled() == outside

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))


@forked
def test_functions_have_options_of_their_own(library: str) -> None:
    llvm = libllvm.open(library)
    optctx.attach(llvm.image, attributes="error")

    def stores(attribute: str) -> int:
        with llvm.parse(COUNTED.replace("%out) {", f'%out) "optctx"="{attribute}" {{')) as module:
            llvm.run_passes(module, "default<O2>")
            return str(module).count("store volatile")

    assert [stores(f"-unroll-count={count}") for count in (2, 3, 4)] == [2, 3, 4]
    assert "no function can have 'disable-lsr' for itself" in error_of(partial(stores, "-disable-lsr"))
    assert "no LLVM option is called 'no-such'" in error_of(partial(stores, "-no-such"))


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
    said = {
        "unroll-count=4": "OptionValueError: cannot read 'unroll-count=4' as an option",
        "-unroll-count=x": "OptionValueError: cannot set 'unroll-count' to 'x': LLVM says: ",
        "-time-passes=x": "OptionValueError: cannot set '-time-passes=x': contexts cannot hold this option",
    }
    for argument, words in said.items():
        assert error_of(partial(llvm.set_option, argument)).startswith(words)
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
