"""`debug` and `debug-only` for some threads only: LLVM prints for them what it prints in a fresh process.

It prints nothing for threads beside them, and each scope has the types that it asks for.
"""

from __future__ import annotations

import ctypes
import itertools
import pickle
import threading
from collections import Counter
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from llvmlite import binding

import optctx
from optctx import OptionContext, OptionValueError, current, drift, registry, run_passes, watch
from optctx._native import find_branches, storage_shown
from optctx.compiling import FreshProcess, Job, compile_job
from optctx.engine.attach import attach
from tests.support.ir_texts import CALLS, COUNTED, SCALE, UNROLL, X86
from tests.support.library_code import llvm_function, read_words
from tests.support.processes import forked, in_child, printed
from tests.support.scopes import beside, in_threads, meanwhile, parse_module, scoped, set_option

# What does not change in the loop is taken out of it.
INVARIANT = SCALE.replace("%n) {", "%n, float %x) {").replace(
    "  %scaled = fmul float %value, 3.0\n",
    "  %square = fmul float %x, %x\n  %raised = fadd float %square, 7.0\n"
    "  %scaled = fmul float %value, %raised\n",
)

PLAIN = Job(INVARIANT, "function(loop-simplify,loop-mssa(licm))", triple=X86, emit="ir")
DEBUGGED = replace(PLAIN, options=("-debug",))


def flag() -> bool:
    """LLVM's own, which is up for the whole process or not."""
    return bool(ctypes.c_uint8.from_address(attach().options["debug"].variable).value)


def of_the_pass(found: list[str]) -> list[str]:
    """Without what is said of the processor when a target machine is made."""
    return [line for line in found if line.startswith("LICM")]


def told(fresh: FreshProcess, *options: str) -> list[str]:
    """What a fresh process prints, but for the command line that it gave to LLVM."""
    found = fresh.compile(replace(PLAIN, options=options)).stderr.splitlines()
    return [line for line in found if not line.startswith("Args: ")]


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


def test_the_innermost_scope_prints_as_a_fresh_process_and_nobody_takes_its_flag_for_drift(
    lines: list[str],
) -> None:
    def nested() -> None:
        with OptionContext(debug=True):
            assert flag()
            with OptionContext(debug=False):
                compile_job(PLAIN)
                assert (flag(), dict(drift())) == (True, {})
            with OptionContext(unroll_count=2):
                compile_job(PLAIN)
            option = registry()["debug"]
            assert (option.value, option.occurrences) == (False, 0)

    events: list[object] = []
    with watch(events.append):
        with OptionContext(debug=False), OptionContext(unroll_count=2):
            assert not flag()
        assert printed(lambda: compile_job(PLAIN)) == []
        assert printed(nested) == lines
        assert not flag()
        assert printed(lambda: compile_job(PLAIN)) == []
    assert (events, dict(drift())) == ([], {})


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
    with OptionContext(debug=True):
        in_threads([lambda: set_option("debug", "false")])
        in_threads([lambda: outside.append(printed(lambda: compile_job(PLAIN)))])
        assert printed(lambda: compile_job(PLAIN)) != []
    assert outside == [[]]
    assert not flag()
    assert printed(lambda: compile_job(PLAIN)) == []


@pytest.mark.usefixtures("attributes")
def test_it_follows_an_llvm_context_and_a_function(lines: list[str]) -> None:
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
    attributed = INVARIANT.replace("float %x) {", 'float %x) "optctx"="-debug" {')
    assert attributed != INVARIANT
    assert of_the_pass(printed(lambda: run(attributed, False))) == wanted

    assert not flag()


def test_all_code_that_looks_at_the_flag_asks_for_the_type_as_well() -> None:
    """What the separation rests on: of the functions that refer to LLVM's flag only these do not ask."""
    from optctx.arch.x86_64.sites import find_references_to

    image = attach().image
    address = attach().options["debug"].variable
    asked = image.named("_ZN4llvm18isCurrentDebugTypeEPKci")
    assert asked is not None
    found = find_references_to(image, [(address, 1)], [])
    looking = {image.name_of(site.function) for site in found.sites}
    looking |= {each.function for each in found.refusals}
    asking = {
        function.name
        for at, _ in find_branches(image, [asked.address])
        if (function := image.function_at(at))
    }
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


# Types

TIMES = 10
OTHER = Job(CALLS, triple=X86)  # -O3 and an object
# Each thread has a module that the other's types say nothing of.
UNROLLED = Job(COUNTED, UNROLL, triple=X86, emit="ir", options=("-unroll-count=4", "-debug-only=loop-unroll"))
HOISTED = replace(PLAIN, options=("-debug-only=licm",))


def test_threads_with_types_of_their_own_print_at_once_and_those_beside_print_nothing(
    fresh: FreshProcess,
) -> None:
    told = {job: fresh.compile(job).stderr.splitlines() for job in (UNROLLED, HOISTED)}
    assert min(map(len, told.values())) >= 2
    for job, options in ((UNROLLED, HOISTED.options), (HOISTED, UNROLLED.options)):
        assert printed(partial(scoped, replace(job, options=options))) == []
    wanted = "".join(line for lines in told.values() for line in lines)
    plain = fresh.compile(OTHER)

    def debugged(job: Job) -> None:
        for _ in range(TIMES):
            scoped(job)

    def beside() -> None:
        assert compile_job(OTHER) == plain
        for silent in (OptionContext(debug=False), OptionContext(debug_only="")):
            assert silent.run(compile_job, OTHER) == plain

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
    printing = attach().plan.printing
    assert printing is not None
    question = llvm_function(printing.asked, ctypes.c_bool, ctypes.c_char_p, ctypes.c_int)
    return bool(question(name.encode(), level))


TYPES = ("licm", "gvn", "a b", "ü", "")
TEXTS = ("licm,,gvn,", "", "licm:1,gvn:0", "licm:x", ":2", "ü:1,a b", "gvn,licm:2,licm", "x" * 300)


def answers() -> list[bool]:
    return [asked(name, level) for name in TYPES for level in (0, 1, 2, 3)]


@pytest.mark.llvm22
def test_llvm_reads_the_same_types_and_levels_as_it_makes_of_the_text_for_the_process() -> None:
    def for_the_process(text: str) -> None:
        given = OptionContext({"debug-only": text}, base="defaults")
        set_option("debug-only", text)
        parse_module()  # from the next call on, threads outside follow what is set process-wide
        expected = answers() if flag() else None
        for own in (given, OptionContext(base="defaults")):
            with own:
                if own is not given:
                    set_option("debug-only", text)
                assert (answers() if own.with_sets()["debug"] else None) == expected
        assert (answers() if flag() else None) == expected

    for text in TEXTS:
        in_child(partial(for_the_process, text))


def test_python_sees_the_types_as_any_option_and_nothing_of_them_is_the_processs() -> None:
    option = registry()["debug-only"]
    assert option.read_by == registry()["debug"].read_by != ()
    context = OptionContext(debug_only="licm,gvn:2")
    assert (context["debug-only"], context["debug"]) == ("licm,gvn:2", True)  # LLVM's parser sets both
    assert context.args() == ["-debug-only=licm,gvn:2"]
    with context:
        assert current() == OptionContext() == context != OptionContext(debug_only="licm")
        assert (option.value, option.occurrences, dict(drift())) == (None, 0, {})
    assert context.diff(OptionContext()) == {"debug-only": ("licm,gvn:2", None)}
    with pytest.raises(OptionValueError, match="LLVM requires one"):
        OptionContext.from_args("-debug-only")


def test_types_that_are_set_process_wide_are_inherited_and_left_alone(fresh: FreshProcess) -> None:
    hoisting, everything = told(fresh, "-debug-only=licm"), told(fresh, "-debug")

    def lines(context: OptionContext) -> list[str]:
        return printed(partial(context.run, compile_job, PLAIN))

    def in_the_process() -> None:
        set_option("debug-only", "gvn:2,loop-unroll")
        assert list(drift()) == ["debug", "debug-only"]
        assert lines(OptionContext(debug_only="x,licm")) == hoisting
        inherits = OptionContext()
        set_option("debug-only", "licm")
        assert printed(lambda: compile_job(PLAIN)) == lines(OptionContext()) == hoisting
        assert lines(inherits) == []  # of when it was made
        assert lines(OptionContext(base="defaults", debug=True)) == everything
        assert printed(lambda: compile_job(PLAIN)) == hoisting
        with pytest.raises(OptionValueError, match="inherits a process-wide value of 'debug-only'"):
            pickle.dumps(OptionContext())

    in_child(in_the_process)


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
