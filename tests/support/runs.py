"""Ways to have LLVM work on a module, shared by the tests of what travels with modules."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from llvmlite import binding

import optctx
from tests.support import ir_texts
from tests.support.ir_texts import UNROLL, X86

# Read while code is generated: where blocks are placed, and how instructions are scheduled.
EMISSION = {"align-all-blocks": 5, "pre-RA-sched": "linearize"}
COUNT = 5


def bitcode(ir: str) -> bytes:
    with binding.create_context() as context, binding.parse_assembly(ir, context) as module:
        return bytes(module.as_bitcode())


def stores(module: Any) -> int:
    return str(module).count("store volatile")


def machine(triple: str = X86, cpu: str = "") -> Any:
    """Make the machine that a `Job` has."""
    target = binding.Target.from_triple(triple)
    return target.create_target_machine(cpu, opt=2, reloc="pic", codemodel="default")


def run_module_passes(module: Any) -> None:
    """llvmlite's own way, with everything but the run outside."""
    _run_passes(binding.create_new_module_pass_manager(), [module])


def run_function_passes(module: Any) -> None:
    _run_passes(binding.create_new_function_pass_manager(), module.functions)


def _run_passes(manager: Any, subjects: Iterable[Any]) -> None:
    manager.add_loop_unroll_pass()
    with machine() as target, binding.create_pipeline_tuning_options() as tuning:
        builder = binding.create_pass_builder(target, tuning)
        for subject in subjects:
            manager.run(subject, builder)


def by_mcjit(module: Any) -> None:
    with binding.create_mcjit_compiler(module, machine()) as engine:
        engine.finalize_object()


def by_lljit(module: Any) -> None:
    with binding.create_lljit_compiler(machine(), suppress_errors=True) as compiler:
        binding.JITLibraryBuilder().add_ir(module).export_symbol("count").link(compiler, "library")


# Every way to have LLVM work on COUNTED.
WAYS: dict[str, Callable[[Any], object]] = {
    "passes": lambda module: optctx.run_passes(module, UNROLL),
    "module passes": run_module_passes,
    "function passes": run_function_passes,
    "emission": lambda module: optctx.emit_object(module, machine()),
    "llvmlite's emission": lambda module: machine().emit_object(module),
    "MCJIT": by_mcjit,
    "LLJIT": by_lljit,
}
RUNS = (WAYS["passes"], run_module_passes, run_function_passes)


def counted(*functions: tuple[str, str]) -> str:
    """COUNTED for each (name, attribute text)."""
    return "\n".join(ir_texts.counted(name, f'"optctx"="{text}"' if text else "") for name, text in functions)


def stores_of_each(module: Any) -> dict[str, int]:
    return {
        function.name: str(function).count("store volatile")
        for function in module.functions
        if not function.is_declaration
    }
