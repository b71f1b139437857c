"""An override of each option type has a visible effect in a real compilation, and the one it should have."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from optctx import OptionContext, registry
from optctx.compiling import FreshProcess, Job, compile_job
from optctx.process import set_process_options
from tests.support.alone import alone
from tests.support.ir_texts import CALLS, SCALE, X86
from tests.support.scopes import scoped

COPY = """
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
define void @copy(ptr %to, ptr %from) {
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 256, i1 false)
  ret void
}
"""
CHECKED = """
declare i1 @llvm.allow.runtime.check(metadata)
define i1 @checked() {
  %allowed = call i1 @llvm.allow.runtime.check(metadata !"mine")
  ret i1 %allowed
}
"""
SANITIZED = "define i32 @f(ptr %at) sanitize_address {\n %value = load i32, ptr %at\n ret i32 %value\n}\n"
INDIRECT = "define void @f(ptr %function) {\n call void %function()\n ret void\n}\n"
PAIR = "define i32 @f(i32 %x) {\n ret i32 %x\n}\ndefine i32 @g(i32 %x) {\n ret i32 %x\n}\n"


def branches(count: int) -> str:
    """Many conditional branches close together, some of them across a 32-byte line."""
    body = "".join(
        f"b{i}:\n %c{i} = icmp eq i32 %x, {7 * i}\n br i1 %c{i}, label %s{i}, label %b{i + 1}\n"
        f"s{i}:\n call void @sink()\n br label %b{i + 1}\n"
        for i in range(count)
    )
    head = "declare void @sink()\ndefine void @branches(i32 %x) {\n br label %b0\n"
    return f"{head}{body}b{count}:\n ret void\n}}\n"


@dataclass(frozen=True)
class Case:
    """`kind` and `storage` of the first of `options`, which does it; the others only let it."""

    kind: str
    options: str
    job: Job
    storage: str = "internal"


def assembly(ir: str, triple: str = X86, **more: object) -> Job:
    return Job(ir, triple=triple, emit="assembly", **more)  # type: ignore[arg-type]


def passes(ir: str, pipeline: str) -> Job:
    return Job(ir, pipeline, triple=X86, emit="ir")


CASES = [
    Case("bool", "-vectorize-loops=false", assembly(SCALE)),
    Case("boolOrDefault", "-fast-isel=true", assembly(SCALE)),
    Case("int", "-inline-threshold=0", assembly(CALLS)),
    Case("uint", "-unroll-count=7", assembly(SCALE)),
    Case("int64", "-mem-intrinsic-expand-size=16", assembly(COPY, "amdgcn-amd-amdhsa", cpu="gfx900")),
    Case("uint64", "-inline-max-stacksize=8", assembly(CALLS)),
    Case("float", "-lower-allow-check-random-rate=0", passes(CHECKED, "function(lower-allow-check)")),
    Case("double", "-vp-counters-per-site=100", passes(INDIRECT, "pgo-instr-gen,instrprof")),
    Case(
        "string",
        "-asan-memory-access-callback-prefix=__mine_ -asan-instrumentation-with-call-threshold=0",
        passes(SANITIZED, "asan"),
    ),
    Case("enum", "-x86-asm-syntax=intel", assembly(SCALE)),
    Case("list", "-internalize-public-api-list=f,g", passes(PAIR, "internalize")),
    Case(
        "other",
        "-x86-align-branch=jcc+fused -x86-align-branch-boundary=32",
        Job(branches(20), triple=X86),
        "external",
    ),
    Case("uint", "-force-vector-width=2", assembly(SCALE), "external"),
]


def test_an_override_changes_the_code_as_it_does_in_a_fresh_process(fresh: FreshProcess) -> None:
    options = registry()
    for case in CASES:
        given = tuple(case.options.split())
        option = options[given[0].partition("=")[0].lstrip("-")]
        assert (option.type, option.storage, option.scope) == (case.kind, case.storage, "thread"), case
        plain, wanted = fresh.compile(case.job), fresh.compile(replace(case.job, options=given))
        assert plain.error is wanted.error is None, case
        assert wanted != plain, case
        assert scoped(replace(case.job, options=given)) == wanted, case
        assert compile_job(case.job) == plain, case


def test_bits_change_what_llvm_says(fresh: FreshProcess, capfd: pytest.CaptureFixture[str]) -> None:
    # pgo-analysis-map, the only one, adds to a section that llvmlite cannot ask for; without it LLVM warns.
    assert [option.name for option in registry().values() if option.type == "bits"] == ["pgo-analysis-map"]
    job = assembly(SCALE, options=("-pgo-analysis-map=bb-freq,br-prob",))
    wanted = fresh.compile(job)
    assert "pgo-analysis-map is enabled for function scale but it does not have labels" in wanted.stderr
    assert scoped(job) == wanted
    assert capfd.readouterr().err == wanted.stderr
    assert compile_job(job) == fresh.compile(replace(job, options=()))
    assert capfd.readouterr().err == ""


def test_every_type_and_storage_that_can_be_scoped_is_covered_here() -> None:
    scopable = [option for option in registry().values() if option.scope == "thread"]
    covered = {case.kind for case in CASES} | {"bits"}
    assert covered == {option.type for option in scopable}
    beside = {"debug", "debug-only"}  # test_debug.py
    others = {option.storage for option in scopable if option.name not in beside}
    assert {case.storage for case in CASES} == others


# What several names, choices and elements of an option are given.
SEVERAL = [f"-regbankselect-{mode}" for mode in ("fast", "greedy", "fast")]
SEVERAL += [f"-aarch64-{name}-hazard-size={n}" for n, name in enumerate(("streaming", "stack", "streaming"))]
SEVERAL += ["-print-after=a", "-print-before=b", "-print-after=c"]


@alone
def test_the_last_occurrence_counts_among_all_names_of_an_option_as_in_llvms_own_parser() -> None:
    known = [each for each in SEVERAL if each[1:].partition("=")[0] in registry()]
    context = OptionContext.from_args(known)
    keywords = OptionContext(
        {"regbankselect-fast": True, "regbankselect-greedy": True}, regbankselect_fast=True
    )
    set_process_options(known)
    for name in (each[1:].partition("=")[0] for each in known):
        assert context[name] == registry()[name].value, name
    assert keywords["regbankselect-fast"] == context["regbankselect-fast"]
    assert context["print-after"] == ["a", "c"]
