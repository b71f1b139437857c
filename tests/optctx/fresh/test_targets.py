"""A processor, a feature or a triple that LLVM does not know is one error, and LLVM prints nothing."""

from __future__ import annotations

import json
import pathlib

import pytest
from ir_texts import SCALE
from llvmlite import binding
from support import X86

from optctx import CompileCache, OptctxError
from optctx.cli.main import main
from optctx.fresh import FreshProcess, Job, compile_job
from optctx.sensitivity import sensitivity
from optctx.sweep import sweep

AARCH64 = "aarch64-unknown-linux-gnu"
OF_AARCH64 = f'target triple = "{AARCH64}"\n{SCALE}'
REFUSED = {
    "cpu": (
        Job(SCALE, triple=X86, cpu="haswel"),
        f"cannot compile for the processor 'haswel': it is no processor of {X86}; did you mean haswell?",
    ),
    "cpu of the module's target": (
        Job(OF_AARCH64, cpu="neoversen1"),
        f"cannot compile for the processor 'neoversen1': it is no processor of {AARCH64}; "
        "did you mean neoverse-n1?",
    ),
    "cpu of this machine's target": (
        Job(SCALE, cpu="haswel"),
        "cannot compile for the processor 'haswel': it is no processor of "
        f"{binding.get_process_triple()}; did you mean haswell?",
    ),
    "cpu of another mode": (
        Job(SCALE, triple=X86, cpu="i386"),
        f"cannot compile for the processor 'i386' of {X86}: LLVM says: 64-bit code requested on a "
        "subtarget that doesn't support it!",
    ),
    "feature": (
        Job(SCALE, triple=X86, features="+fma,+avx22"),
        f"cannot compile for the feature '+avx22': it is no feature of {X86}; did you mean +avx2?",
    ),
    "feature of the native processor": (
        Job(SCALE, triple=X86, cpu="native", features="+avx22"),
        f"cannot compile for the feature '+avx22': it is no feature of {X86}; did you mean +avx2?",
    ),
    "feature without a sign": (
        Job(SCALE, triple=X86, features="avx2"),
        "cannot compile for the features 'avx2': write +avx2 to turn avx2 on, or -avx2 to turn it off",
    ),
    "triple": (
        Job(SCALE, triple="x86_46-linux-gnu", cpu="haswell"),
        "no target machine for 'x86_46-linux-gnu': LLVM has no target called 'x86_46'; did you mean x86_64?",
    ),
}
refused = pytest.mark.parametrize(("job", "words"), REFUSED.values(), ids=REFUSED)


@refused
def test_both_sides_refuse_it_alike(
    job: Job, words: str, fresh: FreshProcess, capfd: pytest.CaptureFixture[str]
) -> None:
    here = compile_job(job)
    assert (here.error, here.code) == (words, b"")
    assert fresh.compile(job) == here
    assert capfd.readouterr() == ("", "")


@refused
def test_a_sweep_refuses_it(job: Job, words: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(OptctxError) as found:
        sweep(job, [])
    assert str(found.value) == words
    with pytest.raises(OptctxError) as found:
        sweep({"a.ll": Job(SCALE, triple=X86), "b.ll": job}, [])
    assert str(found.value) == f"b.ll: {words}"
    assert capfd.readouterr() == ("", "")


@pytest.mark.redirected
@refused
def test_a_sensitivity_run_and_a_cache_refuse_it(
    job: Job, words: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(OptctxError) as found:
        sensitivity(job)
    assert str(found.value) == words
    with pytest.raises(OptctxError) as found:
        CompileCache().compile(job.ir, triple=job.triple, cpu=job.cpu, features=job.features)
    assert str(found.value) == words
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("cpu", "features"), [("cortex-a72", ""), ("cortex-a72", "+sve"), ("", "+sve,-lse"), ("generic", "")]
)
def test_what_the_modules_own_target_knows_is_taken(cpu: str, features: str, fresh: FreshProcess) -> None:
    job = Job(OF_AARCH64, cpu=cpu, features=features)
    result = compile_job(job)
    assert result.error is None
    assert fresh.compile(job) == result
    assert result == compile_job(Job(SCALE, triple=AARCH64, cpu=cpu, features=features))
    [row] = sweep(job, [])
    assert (row.state, row.object_size) == ("ok", len(result.code))


def test_the_command_line_takes_the_processor_of_a_modules_own_target(
    tmp_path: pathlib.Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "module.ll").write_text(OF_AARCH64)
    assert main(["sweep", str(tmp_path / "module.ll"), "--cpu", "cortex-a72", "--format", "json"]) == 0
    [row] = json.loads(capfd.readouterr().out)
    assert row["object_size"] == len(compile_job(Job(OF_AARCH64, cpu="cortex-a72")).code)


def test_what_a_function_asks_for_is_for_llvm_to_judge(fresh: FreshProcess) -> None:
    """A module may come from a newer compiler: LLVM remarks on it and goes on."""
    ir = SCALE.replace("{", '"target-features"="+avx22" {', 1)
    result = fresh.compile(Job(ir, triple=X86, cpu="haswell", emit="assembly"))
    assert result.error is None
    assert "'+avx22' is not a recognized feature" in result.stderr


def test_a_target_is_tried_once_in_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    job = Job(SCALE, triple=X86, cpu="skylake", features="-avx2")
    expected = compile_job(job)
    assert expected.error is None
    monkeypatch.setattr("optctx.fresh.compiling.FreshProcess", None)
    assert compile_job(job) == expected


def test_where_no_process_can_be_started_no_target_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    def start() -> FreshProcess:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("optctx.fresh.compiling.FreshProcess", start)
    error = compile_job(Job(SCALE, triple=X86, cpu="skylake", features="-sse4.1")).error
    assert error is not None
    assert error == (
        "cannot compile for skylake and -sse4.1: no process can be started to ask LLVM (Permission denied)"
    )
