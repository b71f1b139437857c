"""Target machines of an LLVM that users build, shared by scopes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from optctx import (
    ContextMismatchError,
    OptionContext,
    ProcessWideOptionError,
    UnsupportedImageError,
    libllvm,
)
from optctx.compiling import FreshProcess, Job
from optctx.engine.attach import attach
from optctx.libllvm import TargetMachine
from tests.support.ir_texts import COUNTED
from tests.support.own_llvm import needs_archives
from tests.support.processes import forked

EMPTY = "define void @f() {\n ret void\n}"

pytestmark = needs_archives

MACHINE_SETS = ((), ("-fast-isel",), ("-enable-machine-outliner=always",), ("-x86-cmov-converter=false",))


@forked
def test_a_machine_has_the_values_in_force_where_it_is_used(
    library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LLVM keeps -fast-isel in the machine that has emitted under it."""
    llvm = libllvm.open(library)
    scopes = [OptionContext.from_args(options, image=llvm.image) for options in MACHINE_SETS]
    with FreshProcess() as fresh:
        alone = [fresh.compile(Job(COUNTED, options=options, llvm=library)).code for options in MACHINE_SETS]
    assert len(set(alone)) >= 2

    def emitted(machine: TargetMachine, bound: OptionContext | None = None) -> bytes:
        with llvm.parse(COUNTED) as module:
            if bound is not None:
                bound.bind(module.context_address)
            module.take_target(machine)
            llvm.run_passes(module, "default<O3>", machine)
            return llvm.emit_object(module, machine)

    machines = [llvm.target_machine()]
    for scope in scopes[1:]:
        with scope:
            machines.append(llvm.target_machine())

    def work(machine: TargetMachine) -> None:
        for scope, code in zip(scopes, alone, strict=True):
            with scope:
                assert emitted(machine) == code
            assert emitted(machine, bound=scope) == code
        assert emitted(machine) == alone[0]

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, machines * 2))
    monkeypatch.setattr(attach(llvm.image), "shares_machines", False)  # as of an LLVM that lacks a function
    with scopes[1], pytest.raises(ContextMismatchError, match="under other options than it was made"):
        emitted(machines[0])
    for machine, bound in ((machines[1], None), (machines[0], scopes[1])):
        with pytest.raises(ContextMismatchError, match="under other options than it was made"):
            emitted(machine, bound)
    assert emitted(machines[0]) == alone[0]


@forked
def test_a_machine_whose_data_layout_would_differ_is_refused(library: str) -> None:
    """LLVM's function is inline, so nothing tells who asks for it the layout of the values in force. The one
    that makes the options of machines is inline here, too: those of an older machine are not known.
    """
    llvm = libllvm.open(library)
    make = partial(llvm.target_machine, "nvptx64-nvidia-cuda", "sm_50")
    old, older, short = make(), make(), OptionContext(nvptx_short_ptr=True, image=llvm.image)
    machine = make()

    def layout(of: TargetMachine) -> str:
        with llvm.parse(EMPTY) as module:
            module.take_target(of)
            assert ".func f" in llvm.emit_assembly(module, of)
            return str(module)

    with short:
        with pytest.raises(UnsupportedImageError, match=r"data layout .*p3:32:32"):
            layout(machine)
        with pytest.raises(UnsupportedImageError, match="made after optctx attached"):
            layout(old)
        assert "p3:32:32" in layout(make())
    assert "p3:32:32" not in layout(machine)
    assert "p3:32:32" not in layout(older)


@forked
def test_a_machine_that_would_change_the_values_of_every_context_is_refused(
    library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As for R600 in Debian's LLVM 22, which has no symbols; here by other names."""
    from optctx.libllvm import llvm as module

    monkeypatch.setattr(module, "_SET_BY_TARGETS", {"nvptx64": "time-passes", "x86-64": "unroll-count"})
    llvm = libllvm.open(library)
    llvm.target_machine("nvptx64-nvidia-cuda")
    with OptionContext(unroll_count=2, image=llvm.image):
        llvm.target_machine("x86_64-pc-linux-gnu")
        with pytest.raises(ProcessWideOptionError, match=r"cuda': making it sets 'time-passes', for every"):
            llvm.target_machine("nvptx64-nvidia-cuda")
