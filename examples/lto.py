"""Link-time optimisation where no option is lost between the compile step and what runs after linking.

What optimises after linking is another step, often another process, whose command line knows nothing of the
options that the files were compiled with: `-mllvm -force-vector-interleave=4` is gone by then, without a
word. Here the modules carry their options with them. Results are compared with those of separate processes.

Run it: python examples/lto.py
"""

from __future__ import annotations

import llvmlite.binding as llvm

from optctx import OptionContext, check_link, run_passes, stamp
from optctx.compiling import FreshProcess, Job

TRIPLE = "x86_64-unknown-linux-gnu"
BEFORE, AFTER = "lto-pre-link<O2>", "lto<O2>"
OPTIONS = {"force-vector-interleave": 4}

# The loop cannot be vectorised before linking: nothing is known of @weight.
MAIN = """
source_filename = "main.c"
declare float @weight(i64)
define void @scale(ptr noalias %out, ptr noalias %in, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %from = getelementptr float, ptr %in, i64 %i
  %value = load float, ptr %from
  %weight = call float @weight(i64 %i)
  %scaled = fmul float %value, %weight
  %to = getelementptr float, ptr %out, i64 %i
  store float %scaled, ptr %to
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
"""
WEIGHT = """
source_filename = "weight.c"
define float @weight(i64 %i) {
  %whole = sitofp i64 %i to float
  %half = fmul float %whole, 0.5
  ret float %half
}
"""


def optimise(module: llvm.ModuleRef, passes: str) -> None:
    """Runs a pipeline for the target, under the options of this thread."""
    machine = llvm.Target.from_triple(TRIPLE).create_target_machine(codemodel="default")
    module.triple = TRIPLE
    module.data_layout = str(machine.target_data)
    run_passes(module, passes, target_machine=machine)


def compile_step(ir: str) -> bytes:
    """Bitcode that says what it was compiled with."""
    context = OptionContext(OPTIONS, base="defaults")
    module = llvm.parse_assembly(ir, llvm.create_context())
    with context:
        optimise(module, BEFORE)
    stamp(module, context)
    return module.as_bitcode()


def link_step(files: list[bytes]) -> llvm.ModuleRef:
    """One module of all; an error if they were compiled with different options."""
    llvm_context = llvm.create_context()
    modules = [llvm.parse_bitcode(file, llvm_context) for file in files]
    if report := check_link(modules, require_stamps=True):
        raise SystemExit(str(report))
    linked, *others = modules
    for other in others:
        linked.link_in(other)
    return linked


def after_linking(linked: str, context: OptionContext) -> str:
    with context:
        module = llvm.parse_assembly(linked, llvm.create_context())
        optimise(module, AFTER)
        return str(module)


def in_a_process_of_its_own(fresh: FreshProcess, linked: str, options: list[str]) -> str:
    result = fresh.compile(Job(linked, AFTER, tuple(options), triple=TRIPLE, emit="ir"))
    if result.ir is None:
        raise SystemExit(result.error)
    return result.ir


def main() -> None:
    llvm.initialize_all_targets()
    linked = link_step([compile_step(MAIN), compile_step(WEIGHT)])
    kept = OptionContext.from_module(linked)
    print("the linked module says:", *kept.args())
    results = {}
    with FreshProcess() as fresh:
        for name, context in (("kept", kept), ("dropped", OptionContext(base="defaults"))):
            found = after_linking(str(linked), context)
            equal = found == in_a_process_of_its_own(fresh, str(linked), context.args())
            print(
                f"options {name}: {found.count('fmul <4 x float>')} vector multiplications,",
                f"{'as' if equal else 'NOT as'} in a process with {' '.join(context.args()) or 'no options'}",
            )
            results[name] = found
    if results["kept"] == results["dropped"]:
        raise SystemExit("the options make no difference")


if __name__ == "__main__":
    main()
