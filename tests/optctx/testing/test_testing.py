"""Strategies for options and modules, and compilations that may die."""

from __future__ import annotations

from collections.abc import Iterator
from ctypes import CFUNCTYPE, POINTER, c_int64
from typing import Any

import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st
from llvmlite import binding

from optctx import Option, OptionContext, registry, run_passes
from optctx.compiling import Job
from optctx.errors import OptctxError
from optctx.testing import (
    Compiler,
    CrashError,
    HangError,
    contexts,
    jobs,
    modules,
    options,
    overrides,
    values,
)
from optctx.testing.strategies import can_draw
from tests.support.examples import examples
from tests.support.ir_texts import SCALE, X86

CRASH = "-force-vector-width=3"  # LLVM asserts that it is a power of two
HANG = "-misched-limit=0"
HARMLESS = "-disable-branch-fold"


@pytest.fixture(scope="module")
def compiler() -> Iterator[Compiler]:
    with Compiler(timeout=60.0) as compiler:
        yield compiler


def test_values_shrink_towards_the_registered_one() -> None:
    for name in ("enable-gvn-hoist", "chr-bias-threshold", "x86-asm-syntax", "fs-profile-file"):
        option = registry()[name]
        assert find(values(option), lambda _: True) == option.default, name
    option = registry()["inline-threshold"]
    for whole in (False, True):
        assert find(values(option, whole=whole), lambda _: True) == option.default == 225
        assert find(values(option, whole=whole), lambda value: value != 225) == 226
    assert find(values(option, whole=True), lambda value: value < 0) == -1
    assert find(values(option, whole=True), lambda value: value > 1000) == 1001


def test_usual_values_of_every_option_are_taken_and_trusted() -> None:
    """They are drawn from lists: what ranges and texts give depends on the modules that are loaded, too."""
    others = 0
    for option in registry().values():
        if not can_draw(option):
            with pytest.raises(OptctxError, match="not known which texts it takes"):
                values(option)
        if option.scope == "process" or option.type in ("bits", "list") or not can_draw(option):
            others += 1
            continue
        values(option, whole=True).validate()
        drawn: Any = values(option)
        for value in getattr(drawn, "wrapped_strategy", drawn).elements:
            OptionContext({option.name: value}, base="defaults")
            assert value == option.default or trusts(option, value), f"{option.name}={value}"
            least = option.default if isinstance(option.default, int | float) else 0
            assert not isinstance(value, int | float) or value >= min(least, 0)
    assert others < 300


def trusts(option: Option, value: Any) -> bool:
    least, between, most = option.trusted_values.partition("..")
    if between:
        return float(least) <= value <= float(most)
    return not option.trusted_values or str(value) in option.trusted_values.split("|")


def test_options_are_drawn_by_what_they_are() -> None:
    drawn = st.tuples(options(), options("unroll-*"), options(trust=["input"]), options(trust=None))

    @settings(max_examples=5)
    @given(drawn)
    def fits(found: tuple[Option, ...]) -> None:
        tuning, unrolling, reads, _ = found
        assert (tuning.trust, reads.trust, unrolling.name[:7]) == ("tuning", "input", "unroll-")
        assert all(option.alias_of is None and option.scope != "process" for option in found)

    fits()
    with pytest.raises(OptctxError, match=r"no option .* matches options\('unroll-\*', trust=\('input'"):
        find(options("unroll-*", trust=["input"]), lambda _: True)


def test_overrides_shrink_to_the_smallest_set_and_the_smallest_value() -> None:
    drawn = overrides(options("unroll-*"), max_size=3)
    assert find(drawn, lambda _: True) == {}
    assert find(drawn, lambda found: found.get("unroll-count", 0) > 6) == {"unroll-count": 7}
    named = overrides({"unroll-count": st.integers(1, 8), "inline-threshold": st.just(3)}, min_size=1)
    assert find(named, lambda found: "unroll-count" in found) == {"unroll-count": 1}


@examples(20)
@given(contexts(overrides(options(trust=None), whole=True)))
def test_contexts_hold_what_was_drawn(context: OptionContext) -> None:
    assert context == OptionContext.from_args(context.args(), base="defaults")


@examples(15)
@given(modules(), contexts(overrides(options("unroll-*"))), st.integers(-9, 99), st.integers(-9, 99))
def test_modules_give_the_same_result_however_they_are_compiled(
    attached: None, ir: str, context: OptionContext, a: int, b: int
) -> None:
    plain = result_of(ir, "verify", a, b)
    with context:
        assert result_of(ir, "default<O2>", a, b) == plain


def result_of(ir: str, passes: str, a: int, b: int) -> tuple[int, list[int]]:
    """What the kernel returns, and the memory that it leaves."""
    machine = binding.Target.from_default_triple().create_target_machine()
    with binding.create_context() as context:
        module = binding.parse_assembly(ir, context)
        run_passes(module, passes)
        with binding.create_mcjit_compiler(module, machine) as engine:
            engine.finalize_object()
            kernel = CFUNCTYPE(c_int64, c_int64, c_int64, POINTER(c_int64))
            memory = (c_int64 * 64)(*range(64))
            return kernel(engine.get_function_address("kernel"))(a, b, memory), list(memory)


def test_modules_shrink() -> None:
    found = find(modules(), lambda ir: "store" in ir).splitlines()
    assert (len(found), found[-3:]) == (7, ["  store i64 %a, ptr %v2", "  ret i64 %a", "}"])


def test_a_crash_of_llvm_shrinks_to_the_option_and_the_value_that_it_takes(compiler: Compiler) -> None:
    drawn = overrides(options("force-vector-width") | options("unroll-allow-*"), whole=True)

    @settings(report_multiple_bugs=False)
    @given(jobs(SCALE, drawn, triple=X86))
    def compiles(job: Job) -> None:
        compiler.compile(job)

    with pytest.raises(CrashError, match=f"LLVM died with {CRASH}: .*VF needs to be a power of two"):
        compiles()


def test_what_llvm_refuses_is_a_result_and_a_hang_is_an_error(compiler: Compiler) -> None:
    assert "cannot read the module" in (compiler.compile(Job("no IR")).error or "")
    job = Job(SCALE, options=OptionContext(unroll_count=2).args())  # type: ignore[arg-type]
    assert compiler.compile(job).error is None
    with Compiler(timeout=0.5) as impatient:
        late = f"took longer than 0.5 s with {HARMLESS} {HANG}"
        with pytest.raises(HangError, match=late):
            impatient.compile(Job(SCALE, options=(HARMLESS, HANG), triple=X86))
    assert compiler.compile(job).error is None
    with pytest.raises(OptctxError, match="not running; use it inside its `with` block"):
        impatient.compile(Job(SCALE))
