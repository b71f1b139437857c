"""What is compiled, and under which options."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

from llvmlite import binding
from llvmlite.binding.newpassmanagers import NewPassManager

from tests.support.ir_texts import CALLS, SCALE, X86

__all__ = ["DEFAULTS", "MODULES", "PASSES", "SETS", "Key", "by_llvmlite", "key_of", "keys"]

PASSES = "default<O2>"

Options = Mapping[str, str]
Key = tuple[str, ...]  # command-line arguments in order of name
DEFAULTS: Key = ()

MODULES: dict[str, str] = {"scale": SCALE, "calls": CALLS}

# Each changes the code of one of the modules, some of them while a target machine or a pipeline is made.
SETS: tuple[Options, ...] = (
    {"unroll-count": "4"},
    {"unroll-count": "2", "force-vector-width": "1"},
    {"force-vector-width": "8"},
    {"inline-threshold": "0"},
    {"align-all-blocks": "5"},
    {"x86-asm-syntax": "intel"},
    {"pre-RA-sched": "linearize"},
)


def key_of(*scopes: Options) -> Key:
    """The arguments that stand for scopes inside one another."""
    merged: dict[str, str] = {}
    for options in scopes:
        merged.update(options)
    return tuple(f"-{name}={merged[name]}" for name in sorted(merged))


def keys() -> list[Key]:
    """Of no scope, of one, and of any two inside one another."""
    return sorted({DEFAULTS, *map(key_of, SETS), *(key_of(*pair) for pair in product(SETS, SETS))})


def by_llvmlite(name: str) -> str:
    """Assembly by llvmlite's own passes and emission, with everything made here."""
    with (
        binding.create_context() as llvm_context,
        binding.parse_assembly(MODULES[name], llvm_context) as module,
        binding.Target.from_triple(X86).create_target_machine(opt=2, codemodel="default") as machine,
    ):
        tuning = binding.create_pipeline_tuning_options(speed_level=2)
        builder = binding.create_pass_builder(machine, tuning)
        manager = builder.getModulePassManager()
        try:
            manager.run(module, builder)
        finally:
            NewPassManager._dispose(manager)  # which llvmlite 0.50 never calls: 70 KB each
            manager.detach()
        return str(machine.emit_assembly(module))
