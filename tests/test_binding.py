"""Contexts that travel with an LLVMContext: every way in which LLVM is made to work on a module of it."""

from __future__ import annotations

import ctypes
import gc
import resource
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from llvmlite import binding
from llvmlite.binding import ffi
from support import CALLS, COUNTED, SCALE, X86, in_threads, run_python, unrolled

import optctx
from optctx import OptionContext, bound, current, lookup, unbind
from optctx.engine.attach import attach
from optctx.errors import (
    ContextMismatchError,
    ContextMismatchWarning,
    OptctxError,
    OptionTypeError,
    ProcessWideOptionError,
    ScopeError,
    UnknownOptionError,
)
from optctx.fresh import FreshProcess, Job
from optctx.fresh.job import initialise_targets

pytestmark = pytest.mark.redirected

UNROLL = "function(loop-unroll)"
# Read while code is generated: where blocks are placed, and how instructions are scheduled.
EMISSION = {"align-all-blocks": 5, "pre-RA-sched": "linearize"}
COUNT = 5


@pytest.fixture(autouse=True, scope="module")
def _targets() -> None:
    initialise_targets()
    optctx.attach()


@pytest.fixture
def llvm_context() -> Iterator[Any]:
    with binding.create_context() as made:
        yield made


def stores(module: Any) -> int:
    return str(module).count("store volatile")


def machine(triple: str = X86) -> Any:
    return binding.Target.from_triple(triple).create_target_machine(opt=2, codemodel="default")


def run_module_passes(module: Any) -> None:
    """llvmlite's own way, with everything but the run outside."""
    manager = binding.create_new_module_pass_manager()
    manager.add_loop_unroll_pass()
    with machine() as target, binding.create_pipeline_tuning_options() as tuning:
        manager.run(module, binding.create_pass_builder(target, tuning))


def run_function_passes(module: Any) -> None:
    manager = binding.create_new_function_pass_manager()
    manager.add_loop_unroll_pass()
    with machine() as target, binding.create_pipeline_tuning_options() as tuning:
        manager.run(module.get_function("count"), binding.create_pass_builder(target, tuning))


RUNS = (lambda module: optctx.run_passes(module, UNROLL), run_module_passes, run_function_passes)


@pytest.mark.parametrize("run", RUNS, ids=("run_passes", "module passes", "function passes"))
def test_a_bound_module_sees_its_context_on_every_thread(
    llvm_context: Any, run: Callable[[Any], None]
) -> None:
    OptionContext({"unroll-count": COUNT}).bind(llvm_context)
    seen = []

    def work() -> None:
        with binding.parse_assembly(COUNTED, llvm_context) as module:
            run(module)
            seen.append(stores(module))

    work()
    in_threads([work])
    assert seen == [COUNT, COUNT]
    assert unrolled() == 1  # modules of other LLVMContexts, on the same thread


@pytest.mark.parametrize("run", RUNS, ids=("run_passes", "module passes", "function passes"))
def test_the_binding_comes_before_the_scope_of_the_thread_which_is_there_again_afterwards(
    llvm_context: Any, run: Callable[[Any], None]
) -> None:
    OptionContext({"unroll-count": COUNT}).bind(llvm_context)
    with OptionContext({"unroll-count": 2}) as scope:
        with binding.parse_assembly(COUNTED, llvm_context) as module:
            run(module)
            assert stores(module) == COUNT
        assert current() is scope
        assert unrolled() == 2


# A loop that is tested at its top, which the pass on loops moves to its bottom unless the options forbid it.
TESTED_FIRST = """
define void @fill(ptr %out, i64 %n) {
entry:
  br label %header
header:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %more = icmp ult i64 %i, %n
  br i1 %more, label %body, label %done
body:
  %to = getelementptr i64, ptr %out, i64 %i
  store i64 %i, ptr %to
  %next = add i64 %i, 1
  br label %header
done:
  ret void
}
"""


@pytest.mark.parametrize(
    ("text", "passes", "options"),
    [
        (TESTED_FIRST, "function(loop(loop-rotate))", {"rotation-max-header-size": 0}),
        (CALLS, "cgscc(inline)", {"inline-threshold": 0}),
        (COUNTED, "cgscc(function(loop-unroll))", {"unroll-count": COUNT}),
        (SCALE, "default<O3>", {"force-vector-width": 2, "unroll-count": 3}),
    ],
    ids=("loops", "call graph", "functions of a call graph", "all"),
)
def test_pass_managers_inside_others_see_the_bound_context(
    llvm_context: Any, fresh: FreshProcess, text: str, passes: str, options: dict[str, object]
) -> None:
    context = OptionContext(options, base="defaults")
    job = Job(text, passes, triple=X86, emit="ir")
    expected = fresh.compile(replace(job, options=tuple(context.args())))
    assert expected.error is None
    assert fresh.compile(job).ir != expected.ir
    context.bind(llvm_context)
    with binding.parse_assembly(text, llvm_context) as module, machine() as target:
        module.triple, module.data_layout = X86, str(target.target_data)
        optctx.run_passes(module, passes, target_machine=target)
        assert str(module) == expected.ir


def emit_assembly_by_llvmlite(module: Any, target: Any) -> bytes:
    return str(target.emit_assembly(module)).encode()


def emit_object_by_llvmlite(module: Any, target: Any) -> bytes:
    return bytes(target.emit_object(module))


@pytest.mark.parametrize(
    ("emit", "kind"),
    [
        (emit_assembly_by_llvmlite, "assembly"),
        (emit_object_by_llvmlite, "object"),
        (lambda module, target: optctx.emit_assembly(module, target).encode(), "assembly"),
        (optctx.emit_object, "object"),
    ],
    ids=("llvmlite assembly", "llvmlite object", "emit_assembly", "emit_object"),
)
def test_emission_sees_the_bound_context_as_a_fresh_process_does(
    llvm_context: Any, fresh: FreshProcess, emit: Callable[[Any, Any], bytes], kind: Any
) -> None:
    context = OptionContext(EMISSION, base="defaults")
    job = Job(SCALE, passes="module(verify)", triple=X86, emit=kind)
    expected = fresh.compile(replace(job, options=tuple(context.args())))
    assert expected.error is None
    assert fresh.compile(job).code != expected.code
    context.bind(llvm_context)
    with binding.parse_assembly(SCALE, llvm_context) as module, machine() as target:
        module.triple = X86
        module.data_layout = str(target.target_data)
        assert emit(module, target) == expected.code


def object_of_mcjit(module: Any) -> bytes:
    """What MCJIT compiles the module to, in this thread, now."""
    objects = []
    with binding.create_mcjit_compiler(module, machine()) as engine:
        engine.set_object_cache(notify_func=lambda _, code: objects.append(code))
        engine.finalize_object()
        module_is_taken = engine.get_function_address("scale")
        assert module_is_taken
    return bytes(objects[0])


def test_mcjit_compiles_a_module_under_its_bound_context(llvm_context: Any) -> None:
    context = OptionContext(EMISSION)
    plain = object_of_mcjit(binding.parse_assembly(SCALE, llvm_context))
    with context:
        scoped = object_of_mcjit(binding.parse_assembly(SCALE, llvm_context))
    assert scoped != plain
    context.bind(llvm_context)
    assert object_of_mcjit(binding.parse_assembly(SCALE, llvm_context)) == scoped
    unbind(llvm_context)
    assert object_of_mcjit(binding.parse_assembly(SCALE, llvm_context)) == plain


def object_of_orc(module: Any, target: Any) -> bytes:
    """What the compiler that LLJIT uses, llvm::orc::SimpleCompiler, makes of the module.

    llvmlite gives LLJIT only text, which gets an LLVMContext of its own, so the compiler is called directly:
    {table, bool, TargetMachine *, ObjectCache *}, and the result is {MemoryBuffer *, whether it is an error}.
    """
    image = attach().image
    table = image.symbol("_ZTVN4llvm3orc14SimpleCompilerE")
    assert table is not None
    target_at, module_at = (ctypes.cast(thing._ptr, ctypes.c_void_p).value for thing in (target, module))
    compiler = (ctypes.c_void_p * 4)(table + 16, 0, target_at, None)
    call = ctypes.c_void_p.from_address(table + 16 + 2 * 8).value
    assert call is not None
    result = (ctypes.c_void_p * 2)()
    prototype = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
    prototype(call)(ctypes.addressof(result), ctypes.addressof(compiler), module_at)
    assert ((result[1] or 0) & 1) == 0  # no error
    buffer = ctypes.cast(result[0], ffi.LLVMMemoryBufferRef)
    try:
        start, size = ffi.lib.LLVMPY_GetBufferStart(buffer), ffi.lib.LLVMPY_GetBufferSize(buffer)
        return ctypes.string_at(start, size)
    finally:
        ffi.lib.LLVMPY_DisposeMemoryBuffer(buffer)


def test_orcs_compiler_sees_the_bound_context(llvm_context: Any) -> None:
    context = OptionContext(EMISSION)

    def compiled() -> bytes:
        with binding.parse_assembly(SCALE, llvm_context) as module, machine() as target:
            module.data_layout = str(target.target_data)
            return object_of_orc(module, target)

    plain = compiled()
    with context:
        scoped = compiled()
    assert scoped != plain
    context.bind(llvm_context)
    assert compiled() == scoped


def test_the_global_llvm_context_can_be_bound_as_well() -> None:
    everybody = binding.context.get_global_context()
    OptionContext({"unroll-count": COUNT}).bind(everybody)
    try:
        with binding.parse_assembly(COUNTED) as module:
            run_module_passes(module)
            assert stores(module) == COUNT
    finally:
        unbind(everybody)
    with binding.parse_assembly(COUNTED) as module:
        run_module_passes(module)
        assert stores(module) == 1


# Checks instead of switching


@pytest.mark.parametrize("run", RUNS, ids=("run_passes", "module passes", "function passes"))
def test_an_error_on_mismatch_comes_before_any_pass_and_names_the_difference(
    llvm_context: Any, run: Callable[[Any], None]
) -> None:
    context = OptionContext({"unroll-count": COUNT})
    context.bind(llvm_context, on_mismatch="error")
    with binding.parse_assembly(COUNTED, llvm_context) as module:
        before = str(module)
        with pytest.raises(ContextMismatchError, match=r"'unroll-count' \(5 there, 0 here\)") as outside:
            run(module)
        assert repr(context) in str(outside.value)
        with OptionContext({"unroll-count": 2}), pytest.raises(ContextMismatchError, match="2 here"):
            run(module)
        assert str(module) == before
        with context:
            run(module)
        assert stores(module) == COUNT


def test_contexts_with_the_same_values_are_no_mismatch(llvm_context: Any) -> None:
    OptionContext({"unroll-count": COUNT}).bind(llvm_context, on_mismatch="error")
    with (
        binding.parse_assembly(COUNTED, llvm_context) as module,
        OptionContext({"unroll-count": str(COUNT)}),
    ):
        run_module_passes(module)
        assert stores(module) == COUNT


def test_emission_and_mcjit_are_stopped_on_mismatch_as_well(llvm_context: Any) -> None:
    context = OptionContext(EMISSION)
    context.bind(llvm_context, on_mismatch="error")
    with machine() as target:
        for emit in (emit_object_by_llvmlite, optctx.emit_object, optctx.emit_assembly):
            with binding.parse_assembly(SCALE, llvm_context) as module:
                before = str(module)
                with pytest.raises(ContextMismatchError, match="pre-RA-sched"):
                    emit(module, target)
                assert str(module) == before
                with context:
                    assert emit(module, target)
    with binding.create_mcjit_compiler(binding.parse_assembly(SCALE, llvm_context), machine()) as engine:
        with pytest.raises(ContextMismatchError, match="pre-RA-sched"):
            engine.finalize_object()
        with context:
            engine.finalize_object()
            assert engine.get_function_address("scale")


@pytest.mark.parametrize("run", RUNS, ids=("run_passes", "module passes", "function passes"))
def test_a_warning_on_mismatch_leaves_the_run_under_the_scope_of_the_thread(
    llvm_context: Any, run: Callable[[Any], None]
) -> None:
    OptionContext({"unroll-count": COUNT}).bind(llvm_context, on_mismatch="warn")
    with binding.parse_assembly(COUNTED, llvm_context) as module, OptionContext({"unroll-count": 2}):
        with pytest.warns(ContextMismatchWarning, match=r"5 there, 2 here") as caught:
            run(module)
        assert stores(module) == 2
    [warning] = caught
    assert warning.filename == __file__


# Lifetimes


def test_a_binding_ends_with_its_llvm_context_and_another_at_the_same_address_is_unbound() -> None:
    context = OptionContext({"unroll-count": COUNT})
    addresses = set()
    used_again = 0
    for _ in range(50):
        with binding.create_context() as made:
            address = ctypes.cast(made._ptr, ctypes.c_void_p).value
            used_again += address in addresses
            addresses.add(address)
            assert bound(made) is None
            context.bind(made)
            assert bound(made) is context
            with binding.parse_assembly(COUNTED, made) as module:
                run_module_passes(module)
                assert stores(module) == COUNT
    assert used_again > 0, "no address was used again: this shows nothing"
    assert optctx._native.bound_count() == 0


def test_a_binding_keeps_its_context_alive_and_lets_go_of_it(llvm_context: Any) -> None:
    context = OptionContext({"unroll-count": COUNT})
    alive = weakref.ref(context)
    context.bind(llvm_context)
    del context
    gc.collect()
    assert alive() is bound(llvm_context) is not None
    unbind(llvm_context)
    gc.collect()
    assert alive() is None


def test_ten_thousand_bindings_leave_nothing_behind(llvm_context: Any) -> None:
    def cycle(count: int) -> int:
        for number in range(count):
            context = OptionContext({"unroll-count": number % 7})
            context.bind(llvm_context)
            assert bound(llvm_context) is context
            if number % 2:
                unbind(llvm_context)
            else:
                context = None
                with suppress(ScopeError):
                    OptionContext().bind(llvm_context)
                unbind(llvm_context)
        gc.collect()
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    before = cycle(1000)
    assert cycle(10_000) - before < 2048  # KiB: a leak of one context in ten would be 4 MB


def test_unbinding_during_a_run_lets_it_end_as_it_began(llvm_context: Any) -> None:
    context = OptionContext({"unroll-count": COUNT})
    done = []

    def compile_all() -> None:
        for _ in range(150):
            with binding.create_context() as own:
                context.bind(own)
                with binding.parse_assembly(COUNTED, own) as module:
                    optctx.run_passes(module, UNROLL)
                    done.append(stores(module))
                unbind(own)

    def disturb() -> None:
        for _ in range(3000):
            OptionContext({"unroll-count": 3}).bind(llvm_context)
            unbind(llvm_context)

    in_threads([compile_all, compile_all, disturb])
    assert done == [COUNT] * 300


def test_a_pool_of_eight_threads_needs_no_with_for_a_thousand_modules(fresh: FreshProcess) -> None:
    job = Job(SCALE, "default<O2>", triple=X86, emit="ir")
    values = [
        {"unroll-count": count, "force-vector-width": width}
        for count in range(1, 6)
        for width in (1, 2, 4, 8)
    ]
    contexts = [OptionContext(value, base="defaults") for value in values]
    expected = [fresh.compile(replace(job, options=tuple(context.args()))) for context in contexts]
    assert len({result.ir for result in expected}) > 10

    def compile_one(number: int) -> bool:
        with binding.create_context() as own, binding.parse_assembly(SCALE, own) as module:
            contexts[number % 20].bind(own)
            with machine() as target:
                module.triple, module.data_layout = X86, str(target.target_data)
                optctx.run_passes(module, "default<O2>", target_machine=target)
            return str(module) == expected[number % 20].ir

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(compile_one, range(1000))) == 1000


def test_objects_made_under_different_contexts_load_many_times_into_one_jit(fresh: FreshProcess) -> None:
    texts = [SCALE.replace("@scale", f"@scale{number}") for number in range(6)]
    contexts = [
        OptionContext({"vectorize-loops": False, "unroll-count": 2 + number % 3}, base="defaults")
        for number in range(6)
    ]

    def compile_one(number: int) -> bytes:
        with binding.create_context() as own, machine() as target:
            contexts[number].bind(own)
            with binding.parse_assembly(texts[number], own) as module:
                module.triple, module.data_layout = X86, str(target.target_data)
                optctx.run_passes(module, "default<O3>", target_machine=target)
                return optctx.emit_object(module, target)

    with ThreadPoolExecutor(4) as pool:
        objects = list(pool.map(compile_one, range(6)))
    assert objects == [
        fresh.compile(Job(text, options=tuple(context.args()), triple=X86)).code
        for text, context in zip(texts, contexts, strict=True)
    ]
    with binding.create_lljit_compiler(machine()) as jit:
        for round in range(3):
            for number, code in enumerate(objects):
                library = binding.JITLibraryBuilder().add_object_img(code).export_symbol(f"scale{number}")
                tracker = library.link(jit, f"library{round}{number}")
                scale = ctypes.CFUNCTYPE(None, *[ctypes.POINTER(ctypes.c_float)] * 2, ctypes.c_int64)
                data, out = (ctypes.c_float * 19)(*range(19)), (ctypes.c_float * 19)()
                scale(tracker[f"scale{number}"])(out, data, 19)
                assert list(out) == [3.0 * i for i in range(19)]


# Lookups


def test_lookup_reads_the_binding_or_else_the_thread(llvm_context: Any) -> None:
    assert lookup("unroll-count", llvm_context=llvm_context) == 0
    OptionContext({"unroll-count": COUNT}).bind(llvm_context)
    with OptionContext({"unroll-count": 2}):
        assert lookup("unroll-count", int) == lookup("unroll-count") == 2
        assert lookup("unroll-count", int, llvm_context=llvm_context) == COUNT
    with pytest.raises(OptionTypeError, match="type uint"):
        lookup("unroll-count", bool, llvm_context=llvm_context)
    with pytest.raises(UnknownOptionError):
        lookup("unrol-count", llvm_context=llvm_context)


# Bad input: one clear error, nothing changed


def test_what_cannot_be_bound_is_one_clear_error(llvm_context: Any) -> None:
    context = OptionContext({"unroll-count": COUNT})
    closed = binding.create_context()
    closed.close()
    with pytest.raises(OptctxError, match="LLVMContext is closed"):
        context.bind(closed)
    for wrong in (None, 17, "context", binding.parse_assembly(COUNTED, llvm_context)):
        with pytest.raises(TypeError, match=r"expected a LLVMContext \(llvmlite.binding.ContextRef\), found"):
            context.bind(wrong)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="expected"):
            bound(wrong)  # type: ignore[arg-type]
    with pytest.raises(OptionTypeError, match='"switch", "warn" or "error", found \'raise\''):
        context.bind(llvm_context, on_mismatch="raise")  # type: ignore[arg-type]
    with pytest.raises(ProcessWideOptionError, match="changes debug for the whole process"):
        OptionContext({"debug": True}, process_wide="exclusive").bind(llvm_context)
    assert bound(llvm_context) is None
    with pytest.raises(ScopeError, match="no context is bound to it"):
        unbind(llvm_context)


def test_binding_twice_names_the_first_and_keeps_it(llvm_context: Any) -> None:
    first = OptionContext({"unroll-count": COUNT})
    first.bind(llvm_context)
    with pytest.raises(ScopeError, match=r"bound to OptionContext\(\{'unroll-count': 5\}\) already"):
        OptionContext({"unroll-count": 2}).bind(llvm_context)
    assert bound(llvm_context) is first
    with pytest.raises(ScopeError, match="already"):
        first.bind(llvm_context)


def test_detaching_is_refused_while_a_context_is_bound_and_puts_every_table_back() -> None:
    run_python("""
    import optctx
    from llvmlite import binding
    from optctx._native import read_words
    from optctx.engine.attach import attach
    from optctx.image.entries import find_ways
    from support import changed_code

    engine = attach()
    ways = find_ways(engine.image)
    tables = [way for way in ways.entrances if not way.code]
    assert len(tables) > 300 and len(tables) == len(engine.way.hooks.tables)
    assert all(read_words(way.address, 1) != [way.target] for way in tables)
    own = binding.create_context()
    optctx.OptionContext({"unroll-count": 5}).bind(own)
    try:
        optctx.detach()
    except optctx.ScopeError as error:
        assert "bound to 1 LLVMContext" in str(error)
    else:
        raise AssertionError("detached")
    assert engine.way.transaction.committed
    optctx.unbind(own)
    optctx.detach()
    assert all(read_words(way.address, 1) == [way.target] for way in tables)
    assert not changed_code()
    optctx.OptionContext({"unroll-count": 5}).bind(own)
    assert engine.way.transaction.committed and engine.way.hooks.tables.committed
    """)


def test_no_way_into_an_intercepted_function_is_left_open() -> None:
    """Besides direct calls and tables, nothing in the code takes the address of one."""
    run_python("""
    from optctx.image.entries import find_ways
    from optctx.image.loaded import llvmlite_image
    from optctx.image.sites import find_accesses

    image = llvmlite_image()
    ways = find_ways(image)
    assert not ways.missing and len(ways.entrances) > 300
    found = find_accesses(image, sorted((address, 1) for address in ways.intercepted))
    # The destructor of the global LLVMContext is handed to the C++ runtime, to be called at exit.
    names = {image.function_at(address).name for address, _ in found}
    assert names <= {"_ZN4llvm11LLVMContextD1Ev", "_ZN4llvm11LLVMContextD2Ev"}, names
    """)
