"""One TargetMachine under many option values: each compilation is as in a fresh process with these values."""

from __future__ import annotations

import ctypes
import functools
import itertools
import random
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import pytest
from llvmlite import binding

import optctx
from optctx import OptionContext, UnsupportedImageError, emit_assembly, emit_object, record, run_passes
from optctx._native import forget_machines, idle_machines
from optctx.compiling import Emit, FreshProcess, Job
from optctx.engine.attach import attach
from tests.support.alone import alone
from tests.support.ir_texts import LOWERED, SWITCH, X86
from tests.support.library_code import LLVMLITE
from tests.support.processes import SECONDS, in_child
from tests.support.rows import rows
from tests.support.runs import machine as make_machine
from tests.support.scopes import in_threads, process_state

Options = Mapping[str, object]
INTEL: Options = {"x86-asm-syntax": "intel"}
TRAPS: Options = {"trap-unreachable": True}
TESTS: Options = {"min-bit-test-cmps": 100}
PASSES = "default<O2>"
# What LLVM reads while it makes a machine, a subtarget, or a pipeline that writes to the machine. Per triple:
# sets of options, each of which changes the assembly of LOWERED.
CASES: dict[str, tuple[Options, ...]] = {
    X86: (INTEL, TRAPS, TESTS, {"jump-is-expensive": True}, {"fast-isel": True}),
    "aarch64-unknown-linux-gnu": (TRAPS, {"global-isel": True}, {"aarch64-min-jump-table-entries": 2}),
    "powerpc64le-unknown-linux-gnu": (TRAPS, {"ppc-min-jump-table-entries": 2}),
    "hexagon-unknown-elf": (TRAPS, {"hexagon-long-calls": True}),
}
EMITS: dict[str, Callable[[Any, Any], bytes]] = {
    "emit_assembly": lambda module, machine: emit_assembly(module, machine).encode(),
    "emit_object": emit_object,
    "llvmlite's assembly": lambda module, machine: machine.emit_assembly(module).encode(),
    "llvmlite's object": lambda module, machine: bytes(machine.emit_object(module)),
}
WAITING = ("emit_assembly", "emit_object")  # for other threads that use the machine

pytestmark = [pytest.mark.usefixtures("attached")]


def compiled(machine: Any, emit: str = "emit_assembly", source: str = LOWERED) -> bytes:
    """The source, through the passes and emitted by the machine, under the values of this thread."""
    with binding.create_context() as context, binding.parse_assembly(source, context) as module:
        module.triple = machine.triple
        module.data_layout = str(machine.target_data)
        run_passes(module, PASSES, target_machine=machine)
        return EMITS[emit](module, machine)


def expected(
    fresh: FreshProcess, triple: str, options: Options, emit: str = "emit_assembly", source: str = LOWERED
) -> bytes:
    """What a fresh process gives with these options set for the whole of it."""
    arguments = tuple(OptionContext(options, base="defaults").args())
    kind: Emit = "assembly" if "assembly" in emit else "object"
    return _compiled_afresh(fresh, Job(source, PASSES, arguments, triple, emit=kind))


@functools.cache
def _compiled_afresh(fresh: FreshProcess, job: Job) -> bytes:
    result = fresh.compile(job)
    assert result.error is None, result.error
    return result.code


@pytest.fixture
def machine() -> Iterator[Any]:
    with make_machine() as made:
        yield made


def under(options: Options | None) -> Any:
    return nullcontext() if options is None else OptionContext(options, base="defaults")


@rows("triple", CASES)
def test_whoever_makes_or_uses_a_machine_leaves_nothing_in_it(fresh: FreshProcess, triple: str) -> None:
    """Users in random order, in scopes and outside; of llvmlite's own calls one thread: they do not wait."""
    cases: list[Options] = [{}, *CASES[triple]]
    references = {emit: [expected(fresh, triple, each, emit) for each in cases] for emit in EMITS}
    plain, *others = references["emit_assembly"]
    assert plain not in others

    def work(machine: Any, seed: object, emits: Sequence[str] = tuple(EMITS)) -> None:
        draw = random.Random(str(seed))
        for index in draw.choices(range(len(cases)), k=2 * len(cases)):
            emit = draw.choice(emits)
            with under(cases[index] or draw.choice([None, {}])):
                assert compiled(machine, emit) == references[emit][index], (cases[index], emit)

    def share() -> None:
        for made_in in (None, cases[1]):
            with under(made_in):
                machine = make_machine(triple)
            with machine:
                work(machine, triple)
                if triple == X86:
                    in_threads([functools.partial(work, machine, seed, WAITING) for seed in range(4)])

    in_child(share)  # outside scopes some targets set options of the whole process


@rows("triple", ("avr", "lanai", "powerpc64-unknown-linux-gnu"))
def test_what_llvm_sets_for_a_target_holds_in_every_scope(fresh: FreshProcess, triple: str) -> None:
    """`min-jump-table-entries`: while LLVM makes a machine, or parts of it at its first use."""
    reference = expected(fresh, triple, {}, source=SWITCH)
    scope = under({})
    with scope:
        unused, used = make_machine(triple), make_machine(triple)
        assert compiled(used, source=SWITCH) == reference
    with unused, used:
        for machine in (unused, used, unused):
            with scope:
                assert compiled(machine, source=SWITCH) == reference


# LLVM lowers the level of the machine as long as it selects the instructions of this function.
LONG = 20_000
TIMES = 4  # for once the level might not be the lowered one just then
UNOPTIMISED = (
    "define i64 @f(i64 %x) noinline optnone {\n  %y0 = add i64 %x, 1\n"
    + "".join(f"  %y{at + 1} = mul i64 %y{at}, %x\n" for at in range(LONG))
    + f"  ret i64 %y{LONG}\n}}"
)


def test_a_machine_at_work_on_another_thread_keeps_its_level_for_the_next_scope(machine: Any) -> None:
    works = threading.Event()
    rounds = beside = 0  # emissions of one thread; of the other, in the middle of one of those

    def emit_unoptimised() -> None:
        nonlocal rounds
        with binding.create_context() as own, binding.parse_assembly(UNOPTIMISED, own) as module:
            while beside < TIMES:
                works.set()
                emit_assembly(module, machine)  # without llvmlite's lock
                works.clear()
                rounds += 1

    def emit() -> None:
        nonlocal beside
        try:
            for number in itertools.count(2):  # each has a machine of its own made, and waits for nothing
                assert works.wait(SECONDS)
                before = rounds
                with OptionContext({"unroll-count": number}, base="defaults"):
                    assert emitted(machine) == wanted, number
                beside += works.is_set() and rounds == before
                if beside >= TIMES:
                    break
        finally:
            beside = TIMES

    with make_machine() as other:
        wanted = emitted(other)
    in_threads([emit_unoptimised, emit])


def emitted(machine: Any) -> str:
    """The source, emitted by llvmlite under the values of this thread."""
    with binding.create_context() as context, binding.parse_assembly(LOWERED, context) as module:
        return str(machine.emit_assembly(module))


@alone
def test_values_of_the_whole_process_reach_machines_outside_scopes_as_ever() -> None:
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    early = make_machine()
    plain = compiled(early)
    optctx.attach()
    late = make_machine()
    binding.set_option("", "-trap-unreachable")
    new = make_machine()
    traps = compiled(new)
    assert traps != plain
    assert compiled(early) == compiled(late) == plain  # what stock LLVM does
    scoped = set()
    for machine in (early, late, new):
        with OptionContext({}):
            assert compiled(machine) == traps
        with OptionContext({}, base="defaults"):
            assert compiled(machine) == plain
        with OptionContext(TESTS):
            scoped.add(compiled(machine))
    assert len(scoped - {traps, plain}) == len(scoped) == 1
    assert compiled(early) == compiled(late) == plain


def test_the_data_layout_is_the_one_of_the_values_in_force(fresh: FreshProcess) -> None:
    """With this option pointers to shared memory are short, and LLVM aborts if the module says otherwise."""
    triple = "nvptx64-nvidia-cuda"
    source = "define void @f(ptr addrspace(3) %p) { store i32 1, ptr addrspace(3) %p ret void }"
    references = [
        expected(fresh, triple, options, source=source) for options in ({}, {"nvptx-short-ptr": True})
    ]
    short = OptionContext({"nvptx-short-ptr": True})
    with make_machine(triple) as machine:
        plain = str(machine.target_data)
        for _ in range(2):
            with short:
                assert str(machine.target_data) != plain
                assert compiled(machine, source=source) == references[1]
            assert str(machine.target_data) == plain
            assert compiled(machine, source=source) == references[0]
        for emit in ("emit_assembly", "llvmlite's assembly"):
            with binding.create_context() as own, binding.parse_assembly(source, own) as module:
                module.triple, module.data_layout = triple, plain
                with short:
                    assert EMITS[emit](module, machine)


def test_machines_are_kept_for_the_next_run_and_go_with_the_one_they_are_for(machine: Any) -> None:
    forget_machines(LLVMLITE)
    with OptionContext(INTEL):
        first = compiled(machine)
        assert idle_machines(LLVMLITE) == 1
        assert compiled(machine) == first
        assert idle_machines(LLVMLITE) == 1
    with OptionContext({**INTEL, "unroll-count": 3}):
        compiled(machine)
    assert idle_machines(LLVMLITE) == 2
    for count in range(40):
        with OptionContext({"min-bit-test-cmps": 100 + count}):
            compiled(machine, source="")
    assert idle_machines(LLVMLITE) == 32, "no more are kept"
    machine.close()
    assert idle_machines(LLVMLITE) == 0


def test_what_a_machine_was_built_from_is_recorded_at_each_use(machine: Any) -> None:
    context = OptionContext(TRAPS)
    for _ in range(2):
        with context, record() as log:
            compiled(machine)
        assert {"trap-unreachable", "min-bit-test-cmps", "x86-asm-syntax"} <= set(log.names)
        with OptionContext({"x86-asm-syntax": "intel"}, unread="error"):
            compiled(machine)


# Where LLVM makes no TargetMachine for the values in force


def llvm_function(name: str, result: Any) -> Any:
    function = attach().image.named(name)
    assert function is not None, name
    return ctypes.CFUNCTYPE(result, ctypes.c_void_p)(function.address)


@contextmanager
def no_more_machines(machine: Any) -> Iterator[None]:
    """LLVM's target is as if it had been registered without code generation: it makes no machine."""
    target = llvm_function("LLVMGetTargetMachineTarget", ctypes.c_void_p)(machine._ptr)
    has_machine = llvm_function("LLVMTargetHasTargetMachine", ctypes.c_int)
    words = (ctypes.c_void_p * 16).from_address(target)
    for index, word in enumerate(words):  # which of them leads to the function that makes one
        words[index] = None
        if not has_machine(target):
            break
        words[index] = word
    else:
        raise AssertionError("no pointer of the target matters to LLVMTargetHasTargetMachine")
    try:
        yield
    finally:
        words[index] = word


def test_the_call_raises_one_error_and_everything_is_as_it_was(fresh: FreshProcess) -> None:
    """Twice, since nothing of the first time may be in the way of the second."""
    uses: tuple[Callable[[Any], object], ...] = (compiled, lambda machine: machine.target_data)
    scope = OptionContext(TRAPS)
    for made_in, used_in in ((nullcontext(), scope), (scope, nullcontext())):
        forget_machines(LLVMLITE)
        before = process_state()
        with made_in:
            machine = make_machine()
        with machine:
            for use in uses * 2:
                refused = pytest.raises(UnsupportedImageError, match="LLVM made no target machine")
                with used_in, no_more_machines(machine), refused:
                    use(machine)
            assert (idle_machines(LLVMLITE), process_state()) == (0, before)
            with scope:
                assert compiled(machine) == expected(fresh, X86, TRAPS)


# MCJIT and LLJIT: LLVM puts a trap (ud2) after a call that never returns only under TRAPS

NEVER = "declare void @abort()\ndefine void @{0}() {{\n  call void @abort()\n  unreachable\n}}\n"
AFTER = "define void @{0}_after() {{ ret void }}\n"
TRAP = b"\x0f\x0b"


def traps(address_of: Callable[[str], int], name: str) -> bool:
    """Whether the function has a trap; after it comes another one."""
    address, end = address_of(name), address_of(f"{name}_after")
    assert 0 < end - address < 4096
    return TRAP in ctypes.string_at(address, end - address)


@rows(("made_in", "order"), [({}, (1, 0, 1)), (TRAPS, (0, 1))])
def test_mcjit_compiles_under_the_values_of_the_scope_that_it_runs_in(
    made_in: Options, order: tuple[int, ...]
) -> None:
    with OptionContext(made_in):
        engine = binding.create_mcjit_compiler(binding.parse_assembly(""), make_machine())
    with engine:
        for number, inside in enumerate(order):
            name = f"never{number}"
            engine.add_module(binding.parse_assembly((NEVER + AFTER).format(name)))
            with OptionContext(TRAPS if inside else {}):
                engine.finalize_object()
            assert traps(engine.get_function_address, name) == bool(inside)
        bound = binding.create_context()
        OptionContext(TRAPS).bind(bound)
        engine.add_module(binding.parse_assembly((NEVER + AFTER).format("bound"), bound))
        engine.add_module(binding.parse_assembly((NEVER + AFTER).format("outside")))
        engine.finalize_object()
        assert traps(engine.get_function_address, "bound")
        assert not traps(engine.get_function_address, "outside")


def test_lljit_compiles_under_the_values_of_the_scope_that_looks_up_wherever_it_was_made() -> None:
    """It copies the machine's TargetOptions, in which LLVM has set what these options say."""
    both = OptionContext({**TRAPS, "no-trap-after-noreturn": True})

    def has_trap(jit: Any, name: str) -> bool:
        builder = binding.JITLibraryBuilder().add_ir((NEVER + AFTER).format(name)).add_current_process()
        builder.export_symbol(name).export_symbol(f"{name}_after")
        return traps(builder.link(jit, name).__getitem__, name)

    for made_in in (OptionContext({}), OptionContext(TRAPS), both):
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
                with OptionContext(TRAPS):
                    assert has_trap(jit, f"trapping{number}")
                assert not has_trap(jit, f"again{number}")
