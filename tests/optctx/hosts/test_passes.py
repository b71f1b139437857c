"""Pipelines and emission: what llvmlite's own way gives, without its lock; one clear error for bad input."""

from __future__ import annotations

import ctypes
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from llvmlite import binding
from llvmlite.binding import ffi

from optctx import _native
from optctx.errors import OptctxError
from optctx.hosts.llvmlite.compiling import emit_object, run_passes
from tests.support.ir_texts import SCALE
from tests.support.library_code import LLVMLITE
from tests.support.processes import SECONDS, forked, wait_for, wait_until_asleep
from tests.support.runs import machine as make_machine
from tests.support.scopes import beside, in_threads

pytestmark = pytest.mark.usefixtures("attached")

compile_alone = partial(_native.compile_alone, LLVMLITE)


@pytest.fixture
def parse(llvm_context: Any) -> Iterator[Callable[[], Any]]:
    """Makes modules of `SCALE` in the LLVMContext, all closed before it."""
    with ExitStack() as modules:
        yield lambda: modules.enter_context(binding.parse_assembly(SCALE, llvm_context))


@pytest.fixture
def module(parse: Callable[[], Any]) -> Any:
    return parse()


def address(handle: Any) -> int:
    found = ctypes.cast(handle._ptr, ctypes.c_void_p).value
    assert found
    return found


def test_a_textual_o3_gives_what_llvmlites_own_o3_gives_with_the_same_tuning_options(
    parse: Callable[[], Any], machine: Any
) -> None:
    seen = {str(parse())}
    for interleave in (True, False):
        tuning = binding.create_pipeline_tuning_options(speed_level=3)
        tuning.loop_interleaving = interleave
        builder = binding.create_pass_builder(machine, tuning)
        theirs, ours = parse(), parse()
        builder.getModulePassManager().run(theirs, builder)
        run_passes(ours, "default<O3>", target_machine=machine, tuning=tuning)
        assert str(ours) == str(theirs)
        seen.add(str(ours))
    assert len(seen) == 3


def holding_llvmlites_lock(wait: Callable[[], bool]) -> bool:
    with ffi.lib._lock:
        return wait()


def test_a_compilation_waits_for_those_that_share_its_llvm_context_or_machine_and_for_no_lock(
    llvm_context: Any, module: Any, machine: Any
) -> None:
    def compiles() -> None:
        run_passes(module, "default<O3>", target_machine=machine)
        emit_object(module, machine)

    none = 16  # no LLVMContext and no machine lives at that address
    check_wait(compiles, holding_llvmlites_lock, waits=False)
    check_wait(compiles, partial(compile_alone, none, none, None), waits=False)
    check_wait(compiles, partial(compile_alone, address(llvm_context), 0, None), waits=True)
    emits = partial(emit_object, module, machine)
    check_wait(emits, partial(compile_alone, none, address(machine), None), waits=True)
    with binding.parse_assembly(SCALE) as shared:  # of the global LLVMContext, which llvmlite's calls share
        check_wait(partial(run_passes, shared, "sroa"), holding_llvmlites_lock, waits=True)


def check_wait(
    work: Callable[[], object], hold: Callable[[Callable[[], bool]], bool], *, waits: bool
) -> None:
    """Check whether the work, on another thread, waits for what this one holds. It ends afterwards."""
    done = threading.Event()
    thread = threading.Thread(target=lambda: (work(), done.set()), daemon=True)

    def look() -> bool:
        thread.start()
        if waits:
            wait_until_asleep(thread.native_id or 0)
        else:
            done.wait(SECONDS)
        return not done.is_set()

    assert hold(look) == waits
    assert done.wait(SECONDS)


@forked
def test_other_threads_run_python_code_while_a_compilation_runs(module: Any, tmp_path: Path) -> None:
    """The pass writes the graph of the function to a file, which waits for this thread to read."""
    name = next(iter(module.functions)).name
    os.chdir(tmp_path)
    os.mkfifo(f".{name}.dot")
    signal.setitimer(signal.ITIMER_REAL, SECONDS)  # ends the process, whichever thread has the GIL
    compiling: list[int] = []

    def compile_here() -> None:
        compiling.append(threading.get_native_id())
        run_passes(module, "dot-cfg")

    with beside(compile_here):
        wait_for(lambda: bool(compiling))
        wait_until_asleep(compiling[0])
        assert Path(f".{name}.dot").read_text().startswith("digraph")


def test_locks_taken_in_opposite_orders_do_not_block_each_other() -> None:
    counts = [0, 0]

    def count(which: int) -> None:
        counts[which] += 1

    def work(which: int, context: int, machine: int) -> None:
        for _ in range(2000):
            compile_alone(context, machine, None, count, which)

    in_threads([partial(work, 0, 16, 32), partial(work, 1, 32, 16)])
    assert counts == [2000, 2000]
    assert _native.held()["locks"] == 0


@forked
def test_a_signal_handler_that_raises_ends_the_wait_for_a_lock() -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    held, done = threading.Event(), threading.Event()
    this, own = threading.get_ident(), threading.get_native_id()

    def send() -> None:
        wait_until_asleep(own)
        signal.pthread_kill(this, signal.SIGALRM)

    with beside(lambda: compile_alone(16, 0, None, lambda: (held.set(), done.wait()))):
        held.wait()
        signal.signal(signal.SIGALRM, interrupt)
        threading.Thread(target=send).start()
        with pytest.raises(KeyboardInterrupt):
            compile_alone(16, 8, None, print)
        assert _native.held()["locks"] == 1
        done.set()
    assert _native.held()["locks"] == 0


def test_an_error_in_the_code_is_raised_and_ends_nothing(
    llvm_context: Any, module: Any, machine: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    binding.initialize_native_asmparser()
    text = 'define void @f() {\n call void asm sideeffect "nonsense", ""()\n ret void\n}'
    with (
        binding.parse_assembly(text, llvm_context) as wrong,
        pytest.raises(OptctxError, match="invalid instruction mnemonic 'nonsense'"),
    ):
        emit_object(wrong, machine)
    assert emit_object(module, machine).startswith(b"\x7fELF")  # the LLVMContext works on
    assert capfd.readouterr() == ("", "")
    with (
        make_machine("nvptx64-nvidia-cuda") as other,
        pytest.raises(OptctxError, match=r"cannot emit an object for nvptx64.*can't emit a file"),
    ):
        emit_object(module, other)
