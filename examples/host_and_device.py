"""Host and device code in one process, each with options of its own, compiled at once and in the other order.

Both share the passes, and so the options: a host that must not unroll and a device that must unroll fully
could not be had in one process before. Each result is compared with that of a separate process.

Run it: python examples/host_and_device.py
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import llvmlite.binding as llvm

from optctx import OptionContext, emit_assembly, run_passes
from optctx.compiling import FreshProcess, Job

IR = Path(__file__).with_name("kernel.ll").read_text()
PASSES = "default<O3>"


@dataclass(frozen=True)
class Side:
    """A target, and the options that its code is compiled with."""

    name: str
    triple: str
    cpu: str
    options: dict[str, int]


SIDES = (
    Side("host", "x86_64-unknown-linux-gnu", "x86-64-v3", {"unroll-count": 1, "slp-threshold": 1000}),
    Side("nvidia", "nvptx64-nvidia-cuda", "sm_80", {"unroll-count": 16, "unroll-threshold": 10_000}),
    Side("amd", "amdgcn-amd-amdhsa", "gfx90a", {"unroll-count": 4, "inline-threshold": 1000}),
)


def compile_side(side: Side) -> str:
    """Assembly; the options come with the LLVMContext, on whatever thread this runs."""
    llvm_context = llvm.create_context()
    OptionContext(side.options, base="defaults").bind(llvm_context)
    target = llvm.Target.from_triple(side.triple)
    machine = target.create_target_machine(cpu=side.cpu, codemodel="default")
    module = llvm.parse_assembly(IR, llvm_context)
    module.triple = side.triple
    module.data_layout = str(machine.target_data)
    run_passes(module, PASSES, target_machine=machine)
    return emit_assembly(module, machine)


def in_a_process_of_its_own(fresh: FreshProcess, side: Side) -> str:
    options = tuple(f"-{name}={value}" for name, value in side.options.items())
    job = Job(IR, PASSES, options, triple=side.triple, cpu=side.cpu, emit="assembly")
    result = fresh.compile(job)
    if result.error is not None:
        raise SystemExit(f"{side.name}: {result.error}")
    return result.code.decode()


def at_once(sides: Sequence[Side]) -> dict[str, str]:
    with ThreadPoolExecutor(len(sides)) as pool:
        return dict(zip((side.name for side in sides), pool.map(compile_side, sides), strict=True))


def main() -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    with FreshProcess() as fresh:
        expected = {side.name: in_a_process_of_its_own(fresh, side) for side in SIDES}
    orders = {
        "at once": at_once(SIDES),
        "one after the other": {side.name: compile_side(side) for side in SIDES},
        "in the other order": {side.name: compile_side(side) for side in reversed(SIDES)},
    }
    for side in SIDES:
        equal = all(results[side.name] == expected[side.name] for results in orders.values())
        lines = len(expected[side.name].splitlines())
        print(f"{side.name}: {lines} lines, {'as' if equal else 'NOT as'} in a process of its own")
    if any(results != expected for results in orders.values()):
        raise SystemExit("results differ")


if __name__ == "__main__":
    main()
