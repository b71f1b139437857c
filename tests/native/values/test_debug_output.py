"""`debug` for some threads only: LLVM prints for them what it prints in a fresh process, for nobody else."""

from __future__ import annotations

import pytest
from llvmlite import binding

import optctx
from optctx import OptionContext, drift, registry, run_passes, watch, wrap
from optctx.compiling import FreshProcess, compile_job
from optctx.engine.attach import attach
from tests.support.debug_output import DEBUGGED, INVARIANT, PLAIN, flag, of_the_pass, printed
from tests.support.processes import forked
from tests.support.scopes import in_threads, set_option


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
