"""Programs that crash stock llvmlite by the order in which they drop its objects.

    python -m tests.optctx.hosts.garbage after

"after": optctx attaches before the objects are made. "before": it attaches when all are made, and uses them.
"stock": it is not imported.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from typing import Any

from llvmlite import binding

Program = Iterator[list[object]]  # to what it has made, and from there to where it has dropped it
IR = """
define i32 @{}(i32 %x) {{
  %y = add i32 %x, 1
  ret i32 %y
}}
"""


def parse(llvm_context: Any, name: str = "f") -> Any:
    return binding.parse_assembly(IR.format(name), llvm_context)


def machine() -> Any:
    return binding.Target.from_default_triple().create_target_machine()


def module(llvm_context: Any) -> list[object]:
    return [parse(llvm_context)]


def clone(llvm_context: Any) -> list[object]:
    made = parse(llvm_context)
    return [made, made.clone()]


def linked(llvm_context: Any) -> list[object]:
    made, other = parse(llvm_context), parse(llvm_context, "g")
    made.link_in(other)
    return [made, other]


def values(llvm_context: Any) -> list[object]:
    functions = parse(llvm_context).functions
    function = next(functions)
    return [functions, function, function.blocks, function.attributes, next(function.blocks).instructions]


def engine(llvm_context: Any) -> list[object]:
    return [binding.create_mcjit_compiler(parse(llvm_context), machine())]


def engine_of_two(llvm_context: Any) -> list[object]:
    made = binding.create_mcjit_compiler(parse(llvm_context), machine())
    made.add_module(parse(llvm_context, "g"))
    made.set_object_cache(lambda module, data: None)
    made.finalize_object()
    return [made, made.target_data]


def passes(llvm_context: Any) -> list[object]:
    target, tuning = machine(), binding.create_pipeline_tuning_options()
    builder, other = (binding.create_pass_builder(target, tuning) for _ in range(2))
    builder.start_pass_timing()
    for_modules, for_functions = builder.getModulePassManager(), builder.getFunctionPassManager()
    made = parse(llvm_context)
    for_modules.run(made, builder)
    # While passes are timed, a run leaves callbacks into its stack with the builder: never run it twice then.
    for_functions.run(made.get_function("f"), other)
    return [target, tuning, builder, other, for_modules, for_functions, made]


def lljit(llvm_context: Any) -> list[object]:
    made = binding.create_lljit_compiler(machine())
    builder = binding.JITLibraryBuilder().add_ir(parse(llvm_context)).export_symbol("f")
    return [made, builder.link(made, "library"), made.lookup("library", "f"), made.target_data]


SHAPES: dict[str, Callable[[Any], list[object]]] = {
    each.__name__: each for each in (module, clone, linked, values, engine, engine_of_two, passes, lljit)
}


def in_a_cycle(shape: str, attempt: int) -> Program:
    """Drop objects in a garbage cycle: in both orders of their making, with the LLVMContext and without."""
    llvm_context = binding.create_context()
    objects = SHAPES[shape](llvm_context)
    yield objects
    if attempt % 2:
        objects.reverse()
    cycle: list[object] = [objects, llvm_context if attempt % 4 < 2 else None]
    cycle.append(cycle)
    if attempt > 3:
        gc.collect()  # whose survivors change places


def closed_first(shape: str) -> Program:
    """Close an LLVMContext, and drop the objects one by one."""
    llvm_context = binding.create_context()
    objects = SHAPES[shape](llvm_context)
    yield objects
    llvm_context.close()
    while objects:
        use_memory()
        objects.pop()


def engine_of_contexts() -> Program:
    """Drop llvmlite's engine, which forgets its modules before LLVM deletes them: no cycle is needed."""
    made = binding.create_mcjit_compiler(parse(binding.create_context()), machine())
    made.add_module(parse(binding.create_context(), "g"))
    yield [made]


def programs() -> Iterator[tuple[str, Program]]:
    for shape in SHAPES:
        for attempt in range(8):
            yield f"{shape} {attempt}", in_a_cycle(shape, attempt)
    for shape in SHAPES:
        yield f"{shape} closed first", closed_first(shape)
    yield "engine of contexts", engine_of_contexts()


def touch(objects: list[object]) -> None:
    """Have optctx see and use objects that were there before it attached."""
    import optctx

    for each in objects:
        if isinstance(each, binding.ModuleRef) and not each.closed:
            optctx.run_passes(each, "default<O1>")
        if isinstance(each, binding.ValueRef):
            builder = binding.create_pass_builder(machine(), binding.create_pipeline_tuning_options())
            binding.create_new_function_pass_manager().run(each, builder)
        if isinstance(each, binding.ExecutionEngine):
            each.finalize_object()


def use_memory() -> None:
    """What was freed too early, or twice, is overwritten, or found by malloc."""
    llvm_contexts = [binding.create_context() for _ in range(10)]
    assert all("add i32" in str(parse(each)) for each in llvm_contexts)


def main(when: str) -> None:
    """Run all programs. What is printed last has crashed, unless that is "alive"."""
    gc.disable()
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    if when == "after":
        import optctx

        optctx.attach()
    todo = list(programs())
    made = [next(program) for _, program in todo] if when == "before" else []
    if when == "before":
        import optctx

        optctx.attach()
    while todo:
        name, program = todo.pop()
        print(name, flush=True)
        if made:
            touch(made.pop())
        for _ in program:  # to its end
            pass
        del program
        gc.collect()
        use_memory()
    print("alive")


if __name__ == "__main__":
    main(*sys.argv[1:])
