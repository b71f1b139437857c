"""Operations on modules and LLVMContexts: bindings, attributes, stamps, errors, garbage."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

from llvmlite import binding

import optctx
from optctx import ContextMismatchError, OptctxError, OptionContext, check_link, emit_assembly, stamp
from optctx.trust import CLASSES
from tests.long.soak.actor import Actor, WrongError, context_of, expect, new_machine
from tests.long.soak.inputs import MODULES, PASSES
from tests.support.ir_texts import COUNTED, UNROLL, X86, counted

__all__ = ["attributes", "bindings", "cached", "errors", "garbage", "jit", "links", "machines", "mismatches"]


def unrolling(name: str, count: object) -> str:
    return counted(name, f'"optctx"="-unroll-count={count}"')


def parsed(name: str, llvm_context: Any) -> Any:
    module = binding.parse_assembly(MODULES[name], llvm_context)
    module.triple = X86
    return module


def optimised(module: Any, machine: Any) -> str:
    """As `compile_job` does it, on objects that were made elsewhere."""
    module.data_layout = str(machine.target_data)
    optctx.run_passes(module, PASSES, target_machine=machine)
    return emit_assembly(module, machine)


def bindings(actor: Actor) -> None:
    """What travels with an LLVMContext, in whatever scope the thread is."""
    options, name = actor.options(), actor.module()
    llvm_context = binding.create_context()
    context = context_of(options, base="defaults")
    context.bind(llvm_context)
    module = parsed(name, llvm_context)
    with context:
        machine = new_machine()
    with actor.inside(actor.options()):
        code = optimised(module, machine)
    actor.judge_code(code, name, options)
    if actor.rng.random() < 0.5:
        expect(optctx.bound(llvm_context) is context, "bound to another context")
        optctx.unbind(llvm_context)
    elif actor.rng.random() < 0.5:
        llvm_context.close()


def mismatches(actor: Actor) -> None:
    llvm_context = binding.create_context()
    module = binding.parse_assembly(COUNTED, llvm_context)
    actor.compiled += 1
    OptionContext({"unroll-count": 4}).bind(llvm_context, on_mismatch="error")
    try:
        with context_of({"unroll-count": "3"}):
            optctx.run_passes(module, UNROLL)
    except ContextMismatchError:
        pass
    else:
        raise WrongError("a mismatch is no error")
    expect(str(module).count("store volatile") == 1, "a pass ran in spite of a mismatch")


def attributes(actor: Actor) -> None:
    first, second = actor.rng.choice((2, 3, 4, 5)), actor.rng.choice((6, 7, 8))
    text = unrolling("a", first) + unrolling("b", second) + counted("c")
    module = binding.parse_assembly(text, binding.create_context())
    with actor.inside({"unroll-count": "10"}):
        optctx.attach(attributes="error")  # detaching ends it, and is refused for now
        actor.compiled += 1
        optctx.run_passes(module, UNROLL)
    found = [str(module.get_function(name)).count("store volatile") for name in "abc"]
    expect(found == [first, second, 10], f"attributes {first} and {second} inside 10 gave {found}")


def errors(actor: Actor) -> None:
    """Errors from inside LLVM, in cycles that hold what they were raised about."""
    module = binding.parse_assembly(unrolling("bad", "x"), binding.create_context())
    work: list[Callable[[], object]] = [
        lambda: optctx.run_passes(module, UNROLL),
        lambda: optctx.run_passes(module, "no-such-pass"),
        lambda: emit_assembly(module, new_machine()),
        lambda: OptionContext({"unroll-count": "x"}),
        lambda: OptionContext({"unrol-count": "1"}),
        lambda: OptionContext.from_module(module),
    ]
    try:
        with actor.inside(actor.options()):
            optctx.attach(attributes="error")  # detaching ends it, and is refused for now
            actor.compiled += 1
            actor.rng.choice(work)()
    except OptctxError as error:
        cycle = [module, error]
        cycle.append(cycle)
    else:
        raise WrongError("no error")
    actor.check()


def garbage(actor: Actor) -> None:
    """LLVM's objects in cycles, and the collector at random moments."""
    with actor.inside(actor.options()):
        llvm_context = binding.create_context()
        modules = [parsed(actor.module(), llvm_context) for _ in range(actor.rng.randrange(1, 4))]
        actor.compiled += 1
        optctx.run_passes(modules[0], PASSES)
        cycle: list[object] = [llvm_context, *modules]
        if actor.rng.random() < 0.3:
            cycle.append(binding.create_mcjit_compiler(modules.pop(), new_machine()))
        if actor.rng.random() < 0.3:
            llvm_context.close()
        actor.rng.shuffle(cycle)
        cycle.append(cycle)
    del llvm_context, modules, cycle
    gc.collect(actor.rng.randrange(3))


def jit(actor: Actor) -> None:
    """MCJIT or LLJIT compiles a module of a bound LLVMContext, and the code runs."""
    llvm_context = binding.create_context()
    text = "define i32 @f(i32 %x) {\n %y = mul i32 %x, 3\n ret i32 %y\n}"
    module = binding.parse_assembly(text, llvm_context)
    context_of(actor.options()).bind(llvm_context)
    if actor.rng.random() < 0.5:
        engine = binding.create_mcjit_compiler(module, new_machine())
        engine.finalize_object()
        address = engine.get_function_address("f")
        keep: object = engine
    else:
        engine = binding.create_lljit_compiler(new_machine())
        keep = binding.JITLibraryBuilder().add_ir(module).export_symbol("f").link(engine, "library")
        address = keep["f"]  # type: ignore[index]
    import ctypes

    result = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(address)(14)
    expect(result == 42, f"compiled code gives {result}")
    del keep, engine


def links(actor: Actor) -> None:
    one, other = actor.options(), actor.options()
    llvm_context = binding.create_context()
    modules = [parsed(name, llvm_context) for name in sorted(MODULES)]
    for module, options in zip(modules, (one, other), strict=False):
        stamp(module, context_of(options, base="defaults"))
    expect(bool(check_link(modules)) == (one != other), f"check_link of {one} and {other}")
    found = OptionContext.from_module(modules[0], trust=CLASSES)
    expect(found == context_of(one, base="defaults"), f"a stamp of {one} gives {found!r}")


def cached(actor: Actor) -> None:
    options, name = actor.options(), actor.module()
    with context_of(options):
        result = actor.shared.cache.compile(MODULES[name], PASSES, triple=X86, emit="assembly")
    actor.judge_code(result.code.decode(), name, options)


def machines(actor: Actor) -> None:
    """One target machine for the whole process, under any scope."""
    options, name = actor.options(), actor.module()
    machine = actor.shared.machine()
    with actor.inside(options):
        code = optimised(parsed(name, binding.create_context()), machine)
    actor.judge_code(code, name, options)
