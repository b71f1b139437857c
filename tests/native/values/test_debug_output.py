"""`debug` for some threads only: LLVM prints for them what it prints in a fresh process, for nobody else."""

from __future__ import annotations

import ctypes
import os
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest
from llvmlite import binding

import optctx
from optctx import (
    Log,
    OptionContext,
    OptionValueError,
    contained,
    drift,
    record,
    registry,
    run_passes,
    watch,
    wrap,
)
from optctx.compiling import FreshProcess, Job, compile_job
from optctx.engine.attach import attach
from tests.support.ir_texts import CALLS, X86
from tests.support.processes import forked, in_child
from tests.support.scopes import in_threads, inside_elsewhere, meanwhile, scoped, set_option

# What does not change in the loop is taken out of it.
INVARIANT = """
define void @fill(ptr noalias %out, i64 %n, i64 %x) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %square = mul i64 %x, %x
  %value = add i64 %square, 7
  %to = getelementptr i64, ptr %out, i64 %i
  store i64 %value, ptr %to
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
"""

PLAIN = Job(INVARIANT, "function(loop-simplify,loop-mssa(licm))", triple=X86, emit="ir")
DEBUGGED = replace(PLAIN, options=("-debug",))
OTHER = Job(CALLS, triple=X86)  # -O3 and an object
TIMES = 30


def printed(work: Callable[[], object]) -> list[str]:
    """Lines that reach this process's standard error meanwhile."""
    with tempfile.TemporaryFile() as file:
        kept = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            work()
        finally:
            os.dup2(kept, 2)
            os.close(kept)
        file.seek(0)
        return file.read().decode().splitlines()


def flag() -> bool:
    """LLVM's own, which is up for the whole process or not."""
    return bool(ctypes.c_uint8.from_address(attach().options["debug"].variable).value)


@pytest.fixture(scope="module")
def lines(fresh: FreshProcess) -> list[str]:
    """What a fresh process prints for the job that is debugged."""
    result = fresh.compile(DEBUGGED)
    assert result.error is None
    assert result.ir == fresh.compile(PLAIN).ir
    first, *found = result.stderr.splitlines()
    assert first == "Args: optctx -debug "  # of the command line that the fresh process gave to LLVM
    assert len(of_the_pass(found)) >= 2
    return found


def of_the_pass(found: list[str]) -> list[str]:
    """Without what is said of the processor when a target machine is made."""
    return [line for line in found if line.startswith("LICM")]


def test_the_innermost_scope_prints_what_a_fresh_process_does_and_nothing_after_it(
    lines: list[str],
) -> None:
    def nested() -> None:
        with OptionContext(debug=True):
            with OptionContext(debug=False):
                compile_job(PLAIN)
            with OptionContext(unroll_count=2):
                compile_job(PLAIN)

    assert printed(lambda: compile_job(PLAIN)) == []
    assert printed(nested) == lines
    assert printed(lambda: compile_job(PLAIN)) == []


def test_what_is_set_inside_a_scope_is_printed_there(lines: list[str]) -> None:
    def inside() -> None:
        with contained():
            set_option("debug")
            in_threads([lambda: compile_job(PLAIN)])
            compile_job(PLAIN)
        compile_job(PLAIN)

    parser, *found = printed(inside)
    assert parser.startswith("Args: ")
    assert found == lines


def test_two_threads_print_each_its_own_and_those_beside_print_nothing_and_compile_what_they_would(
    lines: list[str], fresh: FreshProcess
) -> None:
    wanted, wanted_plain = fresh.compile(OTHER), fresh.compile(PLAIN)

    def debugged() -> None:
        for _ in range(TIMES):
            assert scoped(DEBUGGED).ir == wanted_plain.ir

    def plain() -> None:
        assert compile_job(OTHER) == wanted

    def in_a_context() -> None:
        with OptionContext(debug=False):
            plain()

    def all_of_it() -> None:
        with meanwhile(plain, in_a_context):
            in_threads([debugged, debugged])

    # LLVM writes in pieces, which may come between each other's: what counts is every character.
    found = printed(all_of_it)
    assert Counter("".join(found)) == Counter("".join(lines * TIMES * 2))


def test_llvms_flag_is_up_only_while_a_scope_needs_it_and_nobody_takes_it_for_drift() -> None:
    option = registry()["debug"]
    assert (option.scope, option.storage) == ("thread", "heap")
    assert "llvm::isCurrentDebugType(char const*, int)" in option.read_by
    with OptionContext(debug=False), OptionContext(unroll_count=2):
        assert not flag()
    context = OptionContext(debug=True)
    assert not flag()
    events: list[object] = []
    with watch(events.append):
        with context, context:
            assert flag()
            with OptionContext(debug=False):
                assert flag()
                assert dict(drift()) == {}
            compile_job(PLAIN)
            assert (registry()["debug"].value, registry()["debug"].occurrences) == (False, 0)
        assert not flag()
    assert events == []
    assert dict(drift()) == {}


@forked
def test_what_others_set_process_wide_meanwhile_is_theirs_and_stays() -> None:
    outside: list[list[str]] = []
    with OptionContext(debug=True, sets="process"):
        set_option("debug")
        assert registry()["debug"].value is True
        assert list(drift()) == ["debug"]
        with OptionContext(base="defaults"):
            assert printed(lambda: compile_job(PLAIN)) == []
    assert flag()
    assert printed(lambda: compile_job(PLAIN)) != []
    with OptionContext():
        assert printed(lambda: compile_job(PLAIN)) != []
    with OptionContext(debug=False):
        assert printed(lambda: compile_job(PLAIN)) == []
    with OptionContext(debug=True, sets="process"):
        set_option("debug", "false")
        in_threads([lambda: outside.append(printed(lambda: compile_job(PLAIN)))])
        assert printed(lambda: compile_job(PLAIN)) != []
    assert outside == [[]]
    assert not flag()
    assert printed(lambda: compile_job(PLAIN)) == []


@pytest.mark.parametrize("when", ["before", "inside", "after"])
@pytest.mark.parametrize("given", [("debug", None), ("debug-only", "licm")], ids=["debug", "debug-only"])
@forked
def test_threads_outside_follow_what_is_set_process_wide(when: str, given: tuple[str, str | None]) -> None:
    outside: list[int] = []

    def look() -> None:
        in_threads([lambda: outside.append(len(printed(lambda: compile_job(PLAIN))))])

    if when == "before":
        set_option(*given)
    with OptionContext(debug=True, sets="process"):
        if when == "inside":
            look()
            assert outside.pop() == 0
            set_option(*given)
            look()
            assert outside.pop() > 0
    if when == "after":
        assert printed(lambda: compile_job(PLAIN)) == []
        set_option(*given)
    look()
    assert outside.pop() > 0
    assert flag()
    assert registry()["debug"].value is True


def test_types_that_are_given_process_wide_count_in_every_scope_that_prints(fresh: FreshProcess) -> None:
    options = ("-debug", "-debug-only=licm")
    wanted = fresh.compile(replace(PLAIN, options=options)).stderr.splitlines()
    assert wanted == of_the_pass(wanted) != []

    def child() -> None:
        set_option("debug-only", "licm")
        assert printed(lambda: scoped(DEBUGGED)) == wanted
        assert printed(lambda: scoped(PLAIN)) == []

    in_child(child)


def test_a_context_that_gives_types_for_the_whole_process_prints_alone(fresh: FreshProcess) -> None:
    wanted = fresh.compile(replace(PLAIN, options=("-debug-only=licm",))).stderr.splitlines()
    context = OptionContext(debug_only="licm", process_wide="exclusive")

    def inside() -> None:
        with context:
            compile_job(PLAIN)
            assert flag()
            assert dict(drift()) == {}
            assert registry()["debug"].value is False
            with OptionContext(unroll_count=2):
                compile_job(PLAIN)
            with OptionContext(base="defaults"):
                pass
            in_threads([lambda: binding.create_context().close()])

    assert printed(inside) == wanted * 2
    assert not flag()


@pytest.mark.usefixtures("attributes")
def test_it_follows_an_llvm_context_a_function_and_a_copied_scope(lines: list[str]) -> None:
    def run(ir: str, bound: bool) -> None:
        with binding.create_context() as llvm_context, binding.parse_assembly(ir, llvm_context) as module:
            if bound:
                OptionContext(debug=True).bind(llvm_context)
            run_passes(module, PLAIN.passes)

    # Nobody says which processor it is for, so that less is known of what can be taken out.
    wanted = [line for line in of_the_pass(lines) if "hoisting" in line]
    assert len(wanted) == 2
    assert of_the_pass(printed(lambda: run(INVARIANT, True))) == wanted
    assert printed(lambda: run(INVARIANT, False)) == []
    optctx.attach(trust=("tuning", "debug"))
    attributed = INVARIANT.replace("i64 %x) {", 'i64 %x) "optctx"="-debug" {')
    assert attributed != INVARIANT
    assert of_the_pass(printed(lambda: run(attributed, False))) == wanted

    def copied() -> None:
        with OptionContext(debug=True):
            call = wrap(run)
        in_threads([lambda: call(INVARIANT, False)])

    assert of_the_pass(printed(copied)) == wanted
    assert not flag()


def test_the_child_of_a_fork_has_the_flag_up_for_its_own_scopes_only() -> None:
    def alone() -> None:
        assert not flag()
        assert printed(lambda: compile_job(PLAIN)) == []
        assert printed(lambda: scoped(DEBUGGED)) != []
        assert not flag()

    def within() -> None:
        assert flag()
        assert printed(lambda: compile_job(PLAIN)) != []

    def within_types() -> None:
        assert flag()
        assert of_the_pass(printed(lambda: compile_job(PLAIN))) != []

    with inside_elsewhere(OptionContext(debug=True)):
        in_child(alone)
        with OptionContext(debug=True):
            in_child(within)
    assert not flag()
    with OptionContext(debug_only="licm", process_wide="exclusive"):
        in_child(within_types)
    assert not flag()


def test_what_one_thread_debugs_changes_nothing_that_another_records() -> None:
    def recorded() -> tuple[str, object]:
        with record() as log, OptionContext(debug=False, unread="error"):
            compile_job(PLAIN)
        return log.fingerprint(), dict(log.reads)

    alone = recorded()
    assert "debug" not in dict(record_of(OptionContext(debug=True)).reads)
    with OptionContext(debug=True):
        beside: list[tuple[str, object]] = []
        in_threads([lambda: beside.append(recorded())])
    assert beside == [alone]


def record_of(context: OptionContext) -> Log:
    """Where it is on, what is printed is no read either, nor is it an override that nothing read."""
    with record() as log:
        assert printed(lambda: context.run(compile_job, PLAIN)) != []
    assert log.unread == []
    return log


def test_what_is_wrong_with_types_for_the_whole_process_leaves_the_flag_as_it_is() -> None:
    with pytest.raises(OptionValueError, match="debug"):
        OptionContext(debug="maybe")
    wrong = OptionContext({"debug-only": "licm", "rng-seed": "abc"}, process_wide="exclusive")
    with pytest.raises(OptionValueError, match="rng-seed"), wrong:
        pass
    assert not flag()
    assert printed(lambda: compile_job(PLAIN)) == []


@forked
def test_types_that_others_gave_are_there_again_after_a_context_that_gave_more() -> None:
    set_option("debug-only", "gvn:2,loop-unroll")
    assert printed(lambda: compile_job(PLAIN)) == []
    with OptionContext(debug_only="licm", process_wide="exclusive"):
        assert of_the_pass(printed(lambda: compile_job(PLAIN))) != []
    assert printed(lambda: compile_job(PLAIN)) == []
    set_option("debug-only", "licm")
    assert of_the_pass(printed(lambda: compile_job(PLAIN))) != []


def test_all_code_that_looks_at_the_flag_asks_for_the_type_as_well() -> None:
    """What the separation rests on: of the functions that refer to LLVM's flag only these do not ask."""
    from optctx._native import find_branches
    from optctx.arch.x86_64.sites import find_references_to

    image = attach().image
    address = attach().options["debug"].variable
    asked = image.symbol("_ZN4llvm18isCurrentDebugTypeEPKci")
    assert asked is not None
    found = find_references_to(image, [(address, 1)], [])
    looking = {each.function for each in found.sites} | {each.function for each in found.refusals}
    asking = {function.name for at, _ in find_branches(image, [asked]) if (function := image.function_at(at))}
    assert len(found.sites) > 10_000
    assert len(looking) > 3_000
    assert {name for name in looking - asking if not name.endswith(".cold")} == {
        "_ZN12_GLOBAL__N_111CreateDebug4callEv",  # the Option `debug` is made
        "_ZN4llvm2cl3optIN12_GLOBAL__N_112DebugOnlyOptELb1ENS0_6parserISsEEE16handleOccurrenceEjNS_9StringRefES7_",
        "_ZN4llvm4dbgsEv",  # whether to buffer, which only LLVM's own tools do
        "_ZL22debug_user_sig_handlerPv",  # the same
    }
    assert {name for name in looking - asking if name.endswith(".cold")} <= {
        f"{name}.cold" for name in asking
    }
