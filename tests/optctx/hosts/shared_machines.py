"""One TargetMachine for compilations under many option values, and what each of them must give."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from llvmlite import binding

from optctx import OptionContext, emit_assembly, emit_object, run_passes
from optctx.compiling import Emit, FreshProcess, Job
from tests.support.ir_texts import LOWERED, X86

Options = Mapping[str, object]

PASSES = "default<O2>"
# What LLVM reads while it makes a machine, a subtarget, or a pipeline that writes to the machine. Per triple:
# sets of options, each of which changes the assembly of LOWERED.
CASES: dict[str, tuple[Options, ...]] = {
    X86: (
        {"x86-asm-syntax": "intel"},
        {"trap-unreachable": True},
        {"min-bit-test-cmps": 100},
        {"jump-is-expensive": True},
        {"fast-isel": True},
    ),
    "aarch64-unknown-linux-gnu": (
        {"trap-unreachable": True},
        {"min-bit-test-cmps": 100},
        {"global-isel": True},
        {"aarch64-min-jump-table-entries": 2},
    ),
    "powerpc64le-unknown-linux-gnu": (
        {"trap-unreachable": True},
        {"ppc-min-bit-test-cmps": 100},
        {"ppc-min-jump-table-entries": 2},
    ),
    "hexagon-unknown-elf": ({"hexagon-long-calls": True}, {"trap-unreachable": True}),
    "riscv64-unknown-linux-gnu": ({"trap-unreachable": True}, {"min-bit-test-cmps": 100}),
}
EMITS: dict[str, Callable[[Any, Any], bytes]] = {
    "emit_assembly": lambda module, machine: emit_assembly(module, machine).encode(),
    "emit_object": emit_object,
    "llvmlite's assembly": lambda module, machine: machine.emit_assembly(module).encode(),
    "llvmlite's object": lambda module, machine: bytes(machine.emit_object(module)),
}


def compiled(machine: Any, emit: str = "emit_assembly", source: str = LOWERED) -> bytes:
    """The source, through the passes and emitted by the machine, under the values of this thread."""
    with binding.create_context() as context, binding.parse_assembly(source, context) as module:
        module.triple = machine.triple
        module.data_layout = str(machine.target_data)
        run_passes(module, PASSES, target_machine=machine)
        return EMITS[emit](module, machine)


def expected(
    fresh: FreshProcess,
    triple: str,
    options: Options,
    emit: str = "emit_assembly",
    cpu: str = "",
    source: str = LOWERED,
) -> bytes:
    """What a fresh process gives with these options set for the whole of it."""
    arguments = tuple(OptionContext(options, base="defaults").args())
    kind: Emit = "assembly" if "assembly" in emit else "object"
    return _compiled_afresh(fresh, Job(source, PASSES, arguments, triple, cpu, emit=kind))


@functools.cache
def _compiled_afresh(fresh: FreshProcess, job: Job) -> bytes:
    result = fresh.compile(job)
    assert result.error is None, result.error
    return result.code
