"""`debug` for some threads only: LLVM prints for them what it prints in a fresh process, for nobody else."""

from __future__ import annotations

import ctypes
import itertools
import os
import pickle
import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from llvmlite import binding

import optctx
from optctx import (
    Log,
    OptionContext,
    OptionValueError,
    UntrustedOptionError,
    contained,
    current,
    drift,
    record,
    registry,
    run_passes,
    watch,
    wrap,
)
from optctx._native import read_words, storage_shown
from optctx.compiling import FreshProcess, Job, compile_job
from optctx.engine.attach import attach
from tests.support.ir_texts import CALLS, COUNTED, UNROLL, X86
from tests.support.processes import SECONDS, forked, in_child
from tests.support.rows import rows
from tests.support.scopes import (
    beside,
    in_threads,
    inside_elsewhere,
    meanwhile,
    parse_module,
    scoped,
    set_option,
)

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
    with OptionContext(debug=True):
        in_threads([lambda: set_option("debug")])
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
    with OptionContext(debug=True):
        in_threads([lambda: set_option("debug", "false")])
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
    with OptionContext(debug=True):
        if when == "inside":
            look()
            assert outside.pop() == 0
            in_threads([lambda: set_option(*given)])
            look()
            assert outside.pop() > 0
    if when == "after":
        assert printed(lambda: compile_job(PLAIN)) == []
        set_option(*given)
    look()
    assert outside.pop() > 0
    assert flag()
    assert registry()["debug"].value is True


def debugged_by(*options: str) -> Job:
    return replace(PLAIN, options=options)


# LLVM adds up what several `-debug-only` give. The last of `-debug` and `-debug-only` says whether it prints.
GIVEN = [
    ("-debug-only=licm",),
    ("-debug-only=gvn,licm",),
    ("-debug-only=licm", "-debug-only=gvn"),
    ("-debug-only=gvn",),
    ("-debug-only=",),
    ("-debug-only=,",),
    ("-debug-only=licm", "-debug-only="),
    ("-debug-only=licm:0",),
    ("-debug", "-debug-only=licm"),
    ("-debug=false", "-debug-only=licm"),
    ("-debug-only=licm", "-debug=false"),
    ("-debug=false", "-debug-only="),
]


def told(fresh: FreshProcess, *options: str) -> list[str]:
    """What a fresh process prints, but for the command line that it gave to LLVM."""
    found = fresh.compile(debugged_by(*options)).stderr.splitlines()
    return [line for line in found if not line.startswith("Args: ")]


@rows("options", GIVEN)
def test_a_scope_prints_the_types_that_it_asks_for(options: tuple[str, ...], fresh: FreshProcess) -> None:
    assert printed(lambda: scoped(debugged_by(*options))) == told(fresh, *options)
    assert not flag()


@pytest.mark.llvm22  # older ones have no levels
def test_what_is_printed_differs(fresh: FreshProcess) -> None:
    found = {tuple(told(fresh, *options)) for options in GIVEN}
    assert len(found) == 4  # nothing, everything, LICM alone, all but LICM
    assert [] != told(fresh, "-debug-only=licm") == of_the_pass(told(fresh, "-debug-only=licm"))


# Each thread has a module that the other's types say nothing of.
UNROLLED = Job(COUNTED, UNROLL, triple=X86, emit="ir", options=("-unroll-count=4", "-debug-only=loop-unroll"))
HOISTED = replace(PLAIN, options=("-debug-only=licm",))


def test_two_threads_with_types_of_their_own_print_what_fresh_processes_do(fresh: FreshProcess) -> None:
    wanted = {job: fresh.compile(job).stderr.splitlines() for job in (UNROLLED, HOISTED)}
    assert len(wanted[UNROLLED]) >= 2
    assert len(wanted[HOISTED]) >= 2
    for job, options in ((UNROLLED, HOISTED.options), (HOISTED, UNROLLED.options)):
        assert printed(partial(scoped, replace(job, options=options))) == []
    turns = {job: threading.Semaphore(number) for number, job in enumerate(wanted)}
    found: dict[Job, list[list[str]]] = {job: [] for job in wanted}

    def in_turn(job: Job) -> None:
        """Both threads stay inside; one compiles at a time, so that it is known who has printed what."""
        other = next(each for each in turns if each is not job)
        with OptionContext.from_args(job.options, base="defaults"):
            for _ in range(TIMES):
                assert turns[job].acquire(timeout=SECONDS)
                found[job].append(printed(lambda: compile_job(job)))
                turns[other].release()

    in_threads([partial(in_turn, job) for job in wanted])
    assert found == {job: [wanted[job]] * TIMES for job in wanted}


def test_threads_with_types_of_their_own_print_at_once_and_those_beside_print_nothing(
    fresh: FreshProcess,
) -> None:
    wanted = "".join(line for job in (UNROLLED, HOISTED) for line in fresh.compile(job).stderr.splitlines())
    plain = fresh.compile(OTHER)

    def debugged(job: Job) -> None:
        for _ in range(TIMES):
            scoped(job)

    def beside() -> None:
        assert compile_job(OTHER) == plain
        with OptionContext(debug=False):
            assert compile_job(OTHER) == plain
        with OptionContext(debug_only=""):
            assert compile_job(OTHER) == plain

    def all_of_it() -> None:
        with meanwhile(beside):
            in_threads([partial(debugged, UNROLLED), partial(debugged, HOISTED)])

    assert Counter("".join(printed(all_of_it))) == Counter(wanted * TIMES)


def test_a_nested_scope_has_the_types_of_its_base_unless_it_says_otherwise(fresh: FreshProcess) -> None:
    hoisting, everything = told(fresh, "-debug-only=licm"), told(fresh, "-debug")

    def nested(**overrides: Any) -> list[str]:
        with OptionContext(debug_only="licm"), OptionContext(overrides.pop("given", None), **overrides):
            return printed(lambda: compile_job(PLAIN))

    assert nested(unroll_count=2) == nested(debug=True) == nested(debug_only="gvn,licm") == hoisting
    assert nested(debug=False) == nested(debug_only="") == nested(debug_only="gvn") == []
    assert nested(base="defaults") == []
    assert nested(base="defaults", debug=True) == everything
    assert nested(given={"debug-only": "", "debug": True}) == everything
    with OptionContext(debug_only="gvn"), OptionContext(debug=False), OptionContext(debug_only="licm"):
        assert printed(lambda: compile_job(PLAIN)) == hoisting
    assert not flag()


def asked(name: str, level: int) -> bool:
    """Ask LLVM as its passes do, on this thread."""
    plan = attach().plan
    assert plan.printing is not None
    address = attach().image.symbol(plan.printing.asked)
    assert address is not None
    question = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_char_p, ctypes.c_int)(address)
    return question(name.encode(), level)


TYPES = ("licm", "gvn", "a b", "ü", "")
TEXTS = [
    *(
        "licm",
        "licm,gvn",
        "licm,,gvn,",
        ",",
        "",
        "licm:2",
        "licm:1,gvn:0",
        "licm:0",
        "licm:",
        "licm:x",
        "licm:-1",
    ),
    *("licm:2:3", "licm:+2", "licm: 2", ":2", "a b", "ü:1", "licm:99999999999", "gvn,licm:2,licm", "x" * 300),
]


def answers() -> list[bool]:
    return [asked(name, level) for name in TYPES for level in (0, 1, 2, 3)]


@pytest.mark.llvm22
@pytest.mark.parametrize("inside", [False, True], ids=["given", "set inside"])
def test_llvm_reads_the_same_types_and_levels_as_it_makes_of_the_text_for_the_process(inside: bool) -> None:
    def for_the_process(text: str) -> None:
        set_option("debug-only", text)
        parse_module()  # from the next call on, threads outside follow what is set process-wide
        expected = answers() if flag() else None
        with (
            OptionContext(base="defaults")
            if inside
            else OptionContext({"debug-only": text}, base="defaults") as own
        ):
            if inside:
                set_option("debug-only", text)
            assert (answers() if own.with_sets()["debug"] else None) == expected
        assert (answers() if flag() else None) == expected

    for text in TEXTS:
        in_child(partial(for_the_process, text))


def test_python_sees_the_types_as_any_option_and_nothing_of_them_is_the_processs() -> None:
    option = registry()["debug-only"]
    assert (option.scope, option.reason, option.storage) == ("thread", "", "heap")
    assert option.read_by == registry()["debug"].read_by != ()
    context = OptionContext(debug_only="licm,gvn:2")
    assert (context["debug-only"], context["debug"]) == ("licm,gvn:2", True)  # LLVM's parser sets both
    assert context.args() == ["-debug-only=licm,gvn:2"]
    with context:
        assert current() == OptionContext() == context != OptionContext(debug_only="licm")
        assert (option.value, option.occurrences, dict(drift())) == (None, 0, {})
        with OptionContext(base="defaults"):
            assert current()["debug-only"] is None
    assert (option.value, option.occurrences, dict(drift()), flag()) == (None, 0, {}, False)
    assert context.diff(OptionContext()) == {"debug-only": ("licm,gvn:2", None)}
    assert OptionContext({"debug-only": "licm", "debug": False}) != OptionContext(
        debug=False, debug_only="licm"
    )
    with pytest.raises(OptionValueError, match="LLVM requires one"):
        OptionContext.from_args("-debug-only")


ORDERS = [
    *({"debug": False, "debug-only": "licm"}, {"debug-only": "licm", "debug": False}),
    *({"debug-only": "licm"}, {"debug-only": "gvn,licm", "debug": True}),
]


@rows("given", ORDERS)
def test_wherever_the_values_travel_the_same_is_printed(given: dict[str, object], tmp_path: Path) -> None:
    context = OptionContext(given, base="defaults")
    wanted = printed(lambda: context.run(compile_job, PLAIN))
    assert (wanted != []) == (list(given)[-1] == "debug-only" or given["debug"] is True)
    file = tmp_path / "options.toml"
    context.save(file)
    trust = ("debug", "debug-only")
    with binding.create_context() as llvm_context, binding.parse_assembly(INVARIANT, llvm_context) as module:
        optctx.stamp(module, context)
        with pytest.raises(UntrustedOptionError):
            OptionContext.from_module(module)
        stamped = OptionContext.from_module(module, trust=trust)
    with context:
        inside = current()
    again = [
        *(stamped, inside, pickle.loads(pickle.dumps(context)), OptionContext.load(file, trust=trust)),
        *(context.derive(unroll_count=2), OptionContext.from_args(context.args(), base="defaults")),
    ]
    for each in again:
        assert printed(partial(each.run, compile_job, PLAIN)) == wanted
        assert each["debug"] is (wanted != [])


def test_types_that_are_set_inside_a_scope_are_printed_there(fresh: FreshProcess) -> None:
    hoisting = told(fresh, "-debug-only=licm")
    with OptionContext(debug_only="loop-simplify"), contained() as context:
        set_option("debug-only", "gvn")
        assert printed(lambda: compile_job(PLAIN)) == []
        set_option("debug-only", "licm")
        assert printed(lambda: compile_job(PLAIN)) == hoisting
        seen = context.with_sets()
        assert seen == current()
        assert seen.args() == ["-debug-only=gvn", "-debug-only=licm"]
        assert printed(lambda: compile_job(PLAIN)) == hoisting
        set_option("debug", "false")
        assert printed(lambda: compile_job(PLAIN)) == []
        silent = current()
        with OptionContext():
            assert printed(lambda: compile_job(PLAIN)) == []
        set_option("debug-only", "licm")
        assert printed(lambda: compile_job(PLAIN)) == hoisting
        in_threads([lambda: scoped(PLAIN)])
        assert (registry()["debug-only"].occurrences, dict(drift())) == (0, {})
    assert not flag()
    assert printed(lambda: seen.run(compile_job, PLAIN)) == hoisting
    assert printed(lambda: pickle.loads(pickle.dumps(seen)).run(compile_job, PLAIN)) == hoisting
    assert printed(lambda: silent.run(compile_job, PLAIN)) == []


def test_types_that_are_set_process_wide_are_inherited_and_left_alone(fresh: FreshProcess) -> None:
    in_child(partial(types_of_the_process, told(fresh, "-debug-only=licm"), told(fresh, "-debug")))


def types_of_the_process(hoisting: list[str], everything: list[str]) -> None:
    made_before = OptionContext(debug_only="licm")
    set_option("debug-only", "gvn:2,loop-unroll")
    assert list(drift()) == ["debug", "debug-only"]
    assert printed(lambda: compile_job(PLAIN)) == []
    for own in (made_before, OptionContext(debug_only="licm"), OptionContext(debug_only="x,licm")):
        assert printed(partial(own.run, compile_job, PLAIN)) == hoisting
    inherits = OptionContext()
    assert printed(lambda: inherits.run(compile_job, PLAIN)) == []
    set_option("debug-only", "licm")
    assert printed(lambda: compile_job(PLAIN)) == hoisting
    assert printed(lambda: OptionContext().run(compile_job, PLAIN)) == hoisting
    assert printed(lambda: inherits.run(compile_job, PLAIN)) == []  # of when it was made
    with OptionContext(base="defaults", debug=True):
        assert printed(lambda: compile_job(PLAIN)) == everything
    with OptionContext(debug=False):
        assert printed(lambda: compile_job(PLAIN)) == []
    assert printed(lambda: compile_job(PLAIN)) == hoisting
    with pytest.raises(OptionValueError, match="inherits a process-wide value of 'debug-only'"):
        pickle.dumps(OptionContext())


def types_in(found: int) -> int:
    """How many types there are in LLVM's list, or in one that takes its place."""
    printing = attach().plan.printing
    assert printing is not None
    begin, end = read_words(read_words(found, 1)[0], 2)
    return (end - begin) // printing.types.type_size


@forked
def test_lists_of_types_are_made_while_others_are_set_process_wide() -> None:
    """LLVM's parser knows one list, into which it puts what it is given for contexts, too."""
    printing, slot = attach().plan.printing, attach().options["debug-only"].value_slot
    assert printing is not None
    assert slot is not None
    many, times = 30_000, 5
    sizes = set()

    def make(kind: str) -> None:
        for number in itertools.count():
            with OptionContext({"debug-only": f"{kind}{number}"}, base="defaults"):
                sizes.add(types_in(storage_shown(attach().index, slot) or 0))
            if done.is_set():
                break

    done = threading.Event()
    with beside(partial(make, "s"), partial(make, "t")):
        for number in range(times):
            set_option("debug-only", ",".join(f"p{number}" for _ in range(many)))
        done.set()
    assert sizes == {1}
    assert types_in(printing.types.address) == many * times
    inherited = OptionContext()._native.address(slot)
    assert types_in(inherited) == many * times
    assert inherited != printing.types.address


def test_a_list_of_types_is_made_once_for_a_value_and_not_for_each_entry() -> None:
    places: set[int] = set()
    slot = attach().options["debug-only"].value_slot
    assert slot is not None

    def look() -> None:
        with OptionContext(debug_only="licm,made-once"):
            places.add(storage_shown(attach().index, slot) or 0)

    for _ in range(3):
        look()
        in_threads([look, look])
    assert len(places) == 1
    assert 0 not in places


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

    attributed = attributed.replace("-debug", "-debug-only=licm")
    optctx.attach(trust=("tuning", "debug-only"))
    assert printed(lambda: run(attributed, False)) == wanted

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
        found = printed(lambda: compile_job(PLAIN))
        assert found == of_the_pass(found) != []

    with inside_elsewhere(OptionContext(debug=True)):
        in_child(alone)
        with OptionContext(debug=True):
            in_child(within)
    assert not flag()
    with inside_elsewhere(OptionContext(debug_only="licm")):
        in_child(alone)
        with OptionContext(debug_only="licm"):
            in_child(within_types)
    assert not flag()


def test_what_one_thread_debugs_changes_nothing_that_another_records() -> None:
    def recorded() -> tuple[str, object]:
        with record() as log, OptionContext(debug=False, unread="error"):
            compile_job(PLAIN)
        return log.fingerprint(), dict(log.reads)

    alone = recorded()
    for context in (OptionContext(debug=True), OptionContext(debug_only="licm")):
        assert not {"debug", "debug-only"} & dict(record_of(context).reads).keys()
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


def test_all_code_that_looks_at_the_flag_asks_for_the_type_as_well() -> None:
    """What the separation rests on: of the functions that refer to LLVM's flag only these do not ask."""
    from optctx._native import find_branches
    from optctx.arch.x86_64.sites import find_references_to

    image = attach().image
    address = attach().options["debug"].variable
    asked = image.symbol("_ZN4llvm18isCurrentDebugTypeEPKci")
    assert asked is not None
    found = find_references_to(image, [(address, 1)], [])
    looking = {image.name_of(site.function) for site in found.sites}
    looking |= {each.function for each in found.refusals}
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
