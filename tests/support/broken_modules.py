"""Modules that parse, and that LLVM's verifier refuses; and every way in which one reaches LLVM.

Run as a program, it takes one way with every module, and prints how each was answered, as JSON.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

from llvmlite import binding

from optctx import CompileCache, emit_assembly, emit_object, run_passes
from optctx.compiling import FreshProcess, Job, Result, compile_job
from optctx.errors import OptctxError
from optctx.lab.command.main import main
from optctx.lab.rank import rank
from optctx.lab.reduce import reduce_options
from optctx.lab.sweep import sweep
from optctx.lab.tuning import parse_space, tune
from optctx.testing import Compiler
from tests.support.ir_texts import COUNTED, X86
from tests.support.runs import bitcode, machine

_F = "define i32 @f(i32 %x, ptr %p) {{\n{}\n}}\n"
_FLAG = '!llvm.module.flags = !{!0}\n!0 = !{i32 2, !"Debug Info Version", i32 3}\n'
_SELF = _F.format("  %a = add i32 %b, 1\n  %b = add i32 %a, 1\n  ret i32 %b")

# Kind -> (its text, what the verifier says first)
BROKEN = {
    "values that use each other": (_SELF, "Instruction does not dominate all uses! %b = add i32 %a, 1"),
    "a phi without a predecessor": (
        _F.format(
            "e:\n  %c = icmp eq i32 %x, 0\n  br i1 %c, label %l, label %r\nl:\n  br label %m\n"
            "r:\n  br label %m\nm:\n  %v = phi i32 [ 1, %l ]\n  ret i32 %v"
        ),
        "PHINode should have one entry for each predecessor of its parent basic block!",
    ),
    "a use that is not dominated": (
        _F.format(
            "e:\n  %c = icmp eq i32 %x, 0\n  br i1 %c, label %l, label %m\n"
            "l:\n  %v = add i32 %x, 2\n  br label %m\nm:\n  ret i32 %v"
        ),
        "Instruction does not dominate all uses! %v = add i32 %x, 2",
    ),
    "a branch to the entry": (
        _F.format("e:\n  br label %e"),
        "Entry block to function must not have predecessors!",
    ),
    "a call that must be the last": (
        _F.format("  %v = musttail call i32 @f(i32 %x, ptr %p)\n  %w = add i32 %v, 1\n  ret i32 %w"),
        "musttail call must precede a ret with an optional bitcast",
    ),
    "an argument of another type": (
        "declare i32 @llvm.ctlz.i32(i32, i1 immarg)\n"
        "define i32 @f(i32 %x, i1 %c) {\n"
        "  %v = call i32 @llvm.ctlz.i32(i32 %x, i1 %c)\n  ret i32 %v\n}\n",
        "immarg operand has non-immediate parameter",
    ),
    "an alias of what is not there": (
        "declare i32 @g()\n@f = alias i32 (), ptr @g\n",
        "Alias must point to a definition",
    ),
    "metadata that lacks a part": (
        _F.format("  %v = load i32, ptr %p, !range !0\n  ret i32 %v") + "!0 = !{i32 2}\n",
        "Unfinished range!",
    ),
    # LLVM itself ends the process that reads it.
    "with debug info": (_SELF + _FLAG, "Instruction does not dominate all uses! %b = add i32 %a, 1"),
}
# LLVM does not survive reading the first of them.
DAMAGED: dict[str, Callable[[bytes], bytes]] = {
    "bitcode without its middle": lambda whole: whole[:600] + bytes(64) + whole[664:],
    "bitcode without its end": lambda whole: whole[: len(whole) // 2 & ~3],
}
NOT_PARSED = ("with debug info",)  # by llvmlite: the process ends
# Accepted: LLVM leaves the debug info out.
BROKEN_DEBUG_INFO = (
    _F.format("  ret i32 %x").replace("ptr %p)", "ptr %p) !dbg !1")
    + _FLAG
    + '!1 = distinct !DISubprogram(name: "f", scope: !2, spFlags: DISPFlagDefinition, unit: !3)\n'
    "!2 = distinct !DICompileUnit(language: DW_LANG_C99, file: !3, emissionKind: FullDebug)\n"
    '!3 = !DIFile(filename: "a", directory: "b")\n!llvm.dbg.cu = !{!2}\n'
)
SAID = "LLVM's verifier refuses it: "


def as_bitcode(text: str) -> bytes:
    """A module as bitcode, without LLVM noticing at that time that it has debug info."""
    name, other = "Debug Info Version", "Debug Info version"
    return bitcode(text.replace(name, other)).replace(other.encode(), name.encode())


def _module(text: str) -> Any:
    return binding.parse_assembly(text, binding.create_context())


def _checked(result: Result) -> None:
    if result.error is not None:
        assert not result.died, result
        raise OptctxError(result.error)


def _fresh(ir: str | bytes) -> None:
    with FreshProcess(timeout=20.0) as fresh:
        _checked(fresh.compile(Job(ir)))


def _tested(ir: str | bytes) -> None:
    with Compiler() as compiler:
        _checked(compiler.compile(Job(ir)))


def _cached(ir: Any) -> None:
    with CompileCache() as cache:
        cache.compile(ir)


def _run(text: str) -> None:
    run_passes(_module(text), "default<O3>")


def _object(text: str) -> None:
    emit_object(_module(text), machine(X86))


def _assembly(text: str) -> None:
    emit_assembly(_module(text), machine(X86))


_SPACE = "unroll-count=1,2"
OF_MODULES: dict[str, Callable[[str], object]] = {
    "run_passes": _run,
    "emit_object": _object,
    "emit_assembly": _assembly,
    "CompileCache of a module": lambda text: _cached(_module(text)),
}
OF_IR: dict[str, Callable[[Any], object]] = {
    "compile_job": lambda ir: _checked(compile_job(Job(ir))),
    "FreshProcess": _fresh,
    "Compiler": _tested,
    "CompileCache": _cached,
    "sweep": lambda ir: sweep(Job(ir), [_SPACE]),
    "rank": lambda ir: rank(Job(ir), only=["unroll-count"]),
    "tune": lambda ir: tune(Job(ir), parse_space([_SPACE])),
    "reduce_options": lambda ir: reduce_options(Job(ir, options=("-unroll-count=4",))),
}
# Command -> what it is given beside the file.
COMMANDS = {
    "record": [],
    "sweep": ["--try", _SPACE],
    "rank": ["--only", "unroll-count"],
    "tune": ["--try", _SPACE],
    "time": ["--against=-unroll-count=2"],
    "reduce": ["--set", "unroll-count=4"],
}


def _error(work: Callable[[Any], object], ir: Any) -> str:
    try:
        work(ir)
    except OptctxError as error:
        return str(error)
    return "no error"


def _command(name: str, ir: str | bytes) -> str:
    """What a command prints, after its exit status."""
    path = "broken.ll" if isinstance(ir, str) else "broken.bc"
    with open(path, "wb") as file:
        file.write(ir.encode() if isinstance(ir, str) else ir)
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        status = main([name, path, *COMMANDS[name]])
    return f"{status} {said.getvalue()}"


def _answer(way: str, ir: str | bytes) -> str:
    return _error(OF_IR[way], ir) if way in OF_IR else _command(way.split()[-1], ir)


def _answers(way: str) -> Iterator[tuple[str, str]]:
    for kind, (text, _) in BROKEN.items():
        if way not in OF_MODULES:
            yield kind, _answer(way, text)
            yield f"{kind}, as bitcode", _answer(way, as_bitcode(text))
        elif kind not in NOT_PARSED:
            yield kind, _error(OF_MODULES[way], text)
    if way.startswith(("compile_job", "CompileCache", "optctx ")) and way not in OF_MODULES:
        for kind, damage in DAMAGED.items():
            yield kind, _answer(way, damage(bitcode(COUNTED)))


if __name__ == "__main__":
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        print(json.dumps(dict(_answers(sys.argv[1]))))
