"""A module that LLVM's verifier refuses is one line with its words, wherever the module comes in, at once."""

from __future__ import annotations

import itertools
import os
import pathlib
from collections.abc import Callable
from typing import Any

import pytest
from llvmlite import binding

from optctx import CompileCache, emit_assembly, emit_object, run_passes
from optctx.compiling import FreshProcess, Job, Result, compile_job, initialise_targets
from optctx.errors import OptctxError
from optctx.lab.command.main import main
from tests.support.alone import alone
from tests.support.ir_texts import COUNTED, X86
from tests.support.runs import bitcode, machine

_F = "define i32 @f(i32 %x, ptr %p) {{\n{}\n}}\n"
_FLAG = '!llvm.module.flags = !{!0}\n!0 = !{i32 2, !"Debug Info Version", i32 3}\n'
_SELF = _F.format("  %a = add i32 %b, 1\n  %b = add i32 %a, 1\n  ret i32 %b")
# (its text, what the verifier says first): of the order of values, of blocks, of metadata.
BROKEN = [
    (_SELF, "Instruction does not dominate all uses! %b = add i32 %a, 1"),
    (_F.format("e:\n  br label %e"), "Entry block to function must not have predecessors!"),
    (_F.format("  %v = load i32, ptr %p, !range !0\n  ret i32 %v") + "!0 = !{i32 2}\n", "Unfinished range!"),
]
NOT_PARSED = _SELF + _FLAG  # by llvmlite: LLVM itself ends the process that reads it
# Accepted: LLVM leaves the debug info out.
BROKEN_DEBUG_INFO = (
    _F.format("  ret i32 %x").replace("ptr %p)", "ptr %p) !dbg !1")
    + _FLAG
    + '!1 = distinct !DISubprogram(name: "f", scope: !2, spFlags: DISPFlagDefinition, unit: !3)\n'
    "!2 = distinct !DICompileUnit(language: DW_LANG_C99, file: !3, emissionKind: FullDebug)\n"
    '!3 = !DIFile(filename: "a", directory: "b")\n!llvm.dbg.cu = !{!2}\n'
)
REFUSED = "cannot compile {}: LLVM's verifier refuses it: {}"


def as_bitcode(text: str) -> bytes:
    """A module as bitcode, without LLVM noticing at that time that it has debug info."""
    name, other = "Debug Info Version", "Debug Info version"
    return bitcode(text.replace(name, other)).replace(other.encode(), name.encode())


def checked(result: Result) -> None:
    if result.error is not None:
        assert not result.died, result
        raise OptctxError(result.error)


def fresh(ir: Any) -> None:
    with FreshProcess(timeout=20.0) as process:
        checked(process.compile(Job(ir)))


OF_MODULES: list[Callable[[Any], object]] = [
    lambda module: run_passes(module, "default<O3>"),
    lambda module: emit_object(module, machine(X86)),
    lambda module: emit_assembly(module, machine(X86)),
    lambda module: CompileCache(os.environ["XDG_CACHE_HOME"]).compile(module),
]
OF_IR: list[Callable[[Any], object]] = [
    lambda ir: checked(compile_job(Job(ir))),
    fresh,
    lambda ir: CompileCache(os.environ["XDG_CACHE_HOME"]).compile(ir),
]


def said(work: Callable[[Any], object], ir: Any) -> str:
    with pytest.raises(OptctxError) as caught:
        work(ir)
    return str(caught.value)


@alone  # LLVM may end the process
def test_a_broken_module_is_refused_in_the_verifiers_words() -> None:
    initialise_targets()
    binding.initialize_all_asmprinters()
    for text, words in BROKEN:
        with binding.create_context() as context, binding.parse_assembly(text, context) as module:
            for work in OF_MODULES:
                assert said(work, module).startswith(REFUSED.format("the module", words))
    for text, work in itertools.product([BROKEN[0][0], NOT_PARSED], OF_IR):
        assert said(work, text).startswith(REFUSED.format("the module", BROKEN[0][1]))
        assert said(work, as_bitcode(text)) == said(work, text)
    whole = bitcode(COUNTED)
    for damaged in (whole[:600] + bytes(64) + whole[664:], whole[: len(whole) // 2 & ~3]):
        for work in (OF_IR[0], OF_IR[-1]):
            assert said(work, damaged).startswith("cannot read the module: ")


def test_a_command_refuses_it_in_one_line(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, content in (("a.ll", NOT_PARSED.encode()), ("a.bc", as_bitcode(NOT_PARSED))):
        pathlib.Path(name).write_bytes(content)
        assert main(["record", name]) == 2
        err = capfd.readouterr().err
        assert err.startswith(f"optctx: {REFUSED.format(name, BROKEN[0][1])}")
        assert err.count("\n") == 1


def test_debug_info_that_is_broken_is_left_out_as_llvms_programs_do() -> None:
    for work in OF_IR:
        work(BROKEN_DEBUG_INFO)  # raises for an error
