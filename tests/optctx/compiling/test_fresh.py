"""Jobs: in a fresh process each has a clean state, its target, and an answer whatever comes of it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from llvmlite import binding

from optctx import OptionContext
from optctx.compiling import FreshProcess, Job, compile_job
from optctx.errors import OptctxError
from optctx.process import all_arguments
from tests.support.alone import alone
from tests.support.ir_texts import SCALE, X86
from tests.support.processes import SECONDS
from tests.support.rows import rows

BAD_ASSEMBLY = 'define void @f() {\n call void asm sideeffect "nonsense", ""()\n ret void\n}'
JOB = Job(SCALE, triple=X86)


def test_every_kind_of_output_is_the_same_on_both_sides(fresh: FreshProcess) -> None:
    found = {}
    for emit in ("assembly", "ir", "object", "none"):
        job = replace(JOB, emit=emit)
        there = fresh.compile(job)
        assert there == compile_job(job), emit
        assert there.instructions > 0, emit
        found[emit] = (
            b"scale:" in there.code,
            "define void @scale" in (there.ir or ""),
            there.code.startswith(b"\x7fELF"),
        )
    assert found == {
        "assembly": (True, False, False),
        "ir": (False, True, False),
        "object": (False, False, True),
        "none": (False, False, False),
    }


def test_options_change_the_job_and_nothing_after_it(fresh: FreshProcess) -> None:
    plain = fresh.compile(JOB)
    assert plain.error is None
    assert plain.code.startswith(b"\x7fELF")
    options = all_arguments(OptionContext({"unroll-count": 16, "force-vector-width": 1}, base="defaults"))
    assert options == ("-unroll-count=16", "-force-vector-width=1")
    unrolled = fresh.compile(replace(JOB, options=(*options, "-print-after=instcombine")))
    assert unrolled.error is None
    assert unrolled.instructions > plain.instructions
    assert "IR Dump After InstCombinePass on scale" in unrolled.stderr
    assert fresh.compile(JOB) == plain == compile_job(JOB)


@alone
def test_values_that_contexts_cannot_hold_are_passed_on_as_they_are_process_wide() -> None:
    for argument in ("-rng-seed=7", "-filter-print-funcs=f,g", "-unroll-count=3"):
        binding.set_option("", argument)
    passed_on = ("-filter-print-funcs=f", "-filter-print-funcs=g", "-rng-seed=7", "-unroll-count=4")
    assert all_arguments(OptionContext(unroll_count=4)) == passed_on


@pytest.mark.llvm22
def test_a_child_that_exits_or_crashes_is_an_error_value(fresh: FreshProcess) -> None:
    unknown, bad = "Unknown command line argument '-no-such-option=1'", "'x' value invalid for uint argument"
    ended = [
        (replace(JOB, options=("-no-such-option=1",)), "crashed", unknown),
        (replace(JOB, options=("-unroll-count=x",)), "crashed", bad),
        (replace(JOB, options=("-help",)), "crashed", "exited with status 0: USAGE: optctx"),
        (replace(JOB, passes="trigger-crash-module"), "crashed", "killed by SIGABRT"),
    ]
    for job, end, words in ended:
        result = fresh.compile(job)
        assert words in (result.error or "")
        assert (result.code, result.end) == (b"", end), words
        assert (fresh.compile(JOB).error, fresh.compile(JOB).end) == (None, "ok")


def test_bad_jobs_are_the_same_error_value_on_both_sides(fresh: FreshProcess) -> None:
    bad = {
        "cannot read the module: LLVM IR parsing error": replace(JOB, ir="not IR"),
        "unknown pass name 'no-such-pass'": replace(JOB, passes="no-such-pass"),
        "no target machine for 'abc-def-ghi'": replace(JOB, triple="abc-def-ghi"),
        "invalid instruction mnemonic 'nonsense'": replace(JOB, ir=BAD_ASSEMBLY),
        "0, 1, 2 or 3, found 4": replace(JOB, opt_level=4),
        f"it is no processor of {X86}": replace(JOB, cpu="haswel"),
        f"it is no feature of {X86}": replace(JOB, features="+avx22"),
    }
    for words, job in bad.items():
        here, there = compile_job(job), fresh.compile(job)
        assert words in (here.error or "")
        assert there == here
        assert (there.end, there.died) == ("failed", False), words


def test_a_job_that_takes_too_long_is_stopped() -> None:
    with FreshProcess(timeout=1e-6) as impatient:
        late = impatient.compile(JOB)
        assert "took longer than 1e-06 s" in (late.error or "")
        assert late.end == "timed out"
        assert impatient.compile(JOB, timeout=SECONDS).error is None


def test_a_job_that_takes_too_much_memory_ends(fresh: FreshProcess) -> None:
    large = replace(JOB, options=("-unroll-peel-count=256",))
    with FreshProcess(memory=1 << 22) as poor:  # JOB needs up to 1 MiB, the other one more than 8
        # An allocation of LLVM's aborts; operator new throws, and the job ends by itself.
        assert poor.compile(large).end == "out of memory"
        assert poor.compile(JOB) == fresh.compile(JOB)
    assert fresh.compile(large).error is None


def test_it_answers_only_inside_its_with_block() -> None:
    fresh = FreshProcess()
    with pytest.raises(OptctxError, match="not running"):
        fresh.compile(JOB)
    with fresh:
        assert fresh.compile(JOB).error is None
    with pytest.raises(OptctxError, match="not running"):
        fresh.compile(JOB)


def test_limits_that_no_system_takes_are_refused_before_anything_starts(fresh: FreshProcess) -> None:
    for timeout in (0, float("nan"), "x", 10**400):
        with pytest.raises(OptctxError, match="above 0 seconds"):
            fresh.compile(JOB, timeout=timeout)  # type: ignore[arg-type]
    for memory in (0, 2.5, 1 << 60):
        with pytest.raises(OptctxError, match=r"expected 1 to .* bytes of memory, found "):
            FreshProcess(memory=memory)  # type: ignore[arg-type]
    assert fresh.compile(JOB, timeout=float("inf")).error is None


AARCH64 = "aarch64-unknown-linux-gnu"
OF_AARCH64 = f'target triple = "{AARCH64}"\n{SCALE}'


@rows(("cpu", "features"), [("cortex-a72", "+sve"), ("", "+sve,-lse")])
def test_what_the_modules_own_target_knows_is_taken(cpu: str, features: str, fresh: FreshProcess) -> None:
    job = Job(OF_AARCH64, cpu=cpu, features=features)
    result = compile_job(job)
    assert result.error is None
    assert fresh.compile(job) == result
    assert result == compile_job(Job(SCALE, triple=AARCH64, cpu=cpu, features=features))


def test_native_is_the_processor_of_this_machine_with_its_features(fresh: FreshProcess) -> None:
    cpu, features = binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten()
    assert (Job(SCALE, cpu="native").cpu, Job(SCALE, cpu="native").features) == (cpu, features)
    expected = compile_job(Job(SCALE, cpu=cpu, features=features))
    assert expected.error is None
    assert compile_job(Job(SCALE, cpu="native")) == expected
    assert fresh.compile(Job(SCALE, cpu="native")) == expected
    without = [Job(SCALE, cpu=name, features="-avx,-sse4.2", triple=X86) for name in ("native", cpu)]
    assert compile_job(without[0]) == compile_job(without[1])  # what is given replaces the machine's
