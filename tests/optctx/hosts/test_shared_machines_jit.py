"""MCJIT, LLJIT and llvmlite's pass managers with one TargetMachine under many option values."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest
from llvmlite import binding

from optctx import OptionContext
from tests.optctx.hosts.shared_machines import make_machine
from tests.support.ir_texts import SCALE
from tests.support.rows import rows

pytestmark = [pytest.mark.redirected, pytest.mark.usefixtures("attached")]

# A call that never returns: LLVM puts a trap (ud2) after it only with this option.
OPTIONS = {"trap-unreachable": True}
NEVER = "declare void @abort()\ndefine void @{0}() {{\n  call void @abort()\n  unreachable\n}}\n"
AFTER = "define void @{0}_after() {{ ret void }}\n"
TRAP = b"\x0f\x0b"


def code_at(address: int, end: int) -> bytes:
    return ctypes.string_at(address, end - address)


def traps(engine: Any, name: str) -> bool:
    """Whether the function that MCJIT made has a trap."""
    address, end = (engine.get_function_address(each) for each in (name, f"{name}_after"))
    assert 0 < end - address < 4096
    return TRAP in code_at(address, end)


@rows(("made_in", "order"), [({}, (0, 1, 0)), ({}, (1, 0, 1)), (OPTIONS, (0, 1))])
def test_mcjit_compiles_under_the_values_of_the_scope_that_it_runs_in(
    made_in: dict[str, bool], order: tuple[int, ...]
) -> None:
    with OptionContext(made_in):
        engine = binding.create_mcjit_compiler(binding.parse_assembly(""), make_machine())
    with engine:
        for number, inside in enumerate(order):
            name = f"never{number}"
            engine.add_module(binding.parse_assembly((NEVER + AFTER).format(name)))
            with OptionContext(OPTIONS if inside else {}):
                engine.finalize_object()
            assert traps(engine, name) == bool(inside)
        bound = binding.create_context()
        OptionContext(OPTIONS).bind(bound)
        engine.add_module(binding.parse_assembly((NEVER + AFTER).format("bound"), bound))
        engine.add_module(binding.parse_assembly((NEVER + AFTER).format("outside")))
        engine.finalize_object()
        assert traps(engine, "bound")
        assert not traps(engine, "outside")


def linked(jit: Any, name: str) -> Any:
    """A library of the two functions, in this order, which nothing has compiled yet."""
    builder = binding.JITLibraryBuilder().add_ir((NEVER + AFTER).format(name)).add_current_process()
    builder.export_symbol(name).export_symbol(f"{name}_after")
    return builder.link(jit, name)


def test_a_pass_builder_that_was_made_outside_asks_the_machine_of_the_scope() -> None:
    """The width of a vector comes from the subtarget."""
    target = binding.Target.from_triple("aarch64-unknown-linux-gnu")

    def vectorised(machine: Any, builder: Any) -> str:
        with binding.create_context() as context, binding.parse_assembly(SCALE, context) as module:
            module.triple, module.data_layout = machine.triple, str(machine.target_data)
            builder.getModulePassManager().run(module, builder)
            return str(module)

    bits = OptionContext({"aarch64-sve-vector-bits-min": 512, "aarch64-sve-vector-bits-max": 512})
    with target.create_target_machine("generic", "+sve2") as machine:
        tuning = binding.create_pipeline_tuning_options(speed_level=3)
        tuning.loop_vectorization = True
        builder = binding.create_pass_builder(machine, tuning)
        plain = vectorised(machine, builder)
        with bits:
            wide = vectorised(machine, builder)
        assert vectorised(machine, builder) == plain
        assert wide != plain
        with bits, target.create_target_machine("generic", "+sve2") as own:
            assert vectorised(own, binding.create_pass_builder(own, tuning)) == wide


def test_lljit_compiles_under_the_values_of_the_scope_that_looks_up_wherever_it_was_made() -> None:
    """It copies the machine's TargetOptions, in which LLVM has set what these options say."""
    both = OptionContext({**OPTIONS, "no-trap-after-noreturn": True})

    def has_trap(jit: Any, name: str) -> bool:
        tracker = linked(jit, name)
        return TRAP in code_at(tracker[name], tracker[f"{name}_after"])

    for made_in in (OptionContext({}), OptionContext(OPTIONS), both):
        with made_in:
            machine = make_machine()
            inside = binding.create_lljit_compiler(machine, suppress_errors=True)
        with OptionContext({}):
            elsewhere = binding.create_lljit_compiler(machine, suppress_errors=True)
        outside = binding.create_lljit_compiler(machine, suppress_errors=True)
        for number, jit in enumerate((inside, elsewhere, outside)):
            with jit:
                assert not has_trap(jit, f"outside{number}")
                with OptionContext({}):
                    assert not has_trap(jit, f"registered{number}")
                with OptionContext(OPTIONS):
                    assert has_trap(jit, f"trapping{number}")
