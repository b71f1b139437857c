"""What the target of a module knows is taken; what is refused is in `refusals/targets.txt`."""

from __future__ import annotations

import hashlib
import json
import pathlib

import pytest
from llvmlite import binding

from optctx.compiling import FreshProcess, Job, compile_job
from optctx.lab.command.main import main
from tests.support.ir_texts import SCALE, X86
from tests.support.rows import rows

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
    expected = compile_job(Job(SCALE, cpu=cpu, features=features))
    assert expected.error is None
    assert compile_job(Job(SCALE, cpu="native")) == expected
    assert fresh.compile(Job(SCALE, cpu="native")) == expected
    without = [Job(SCALE, cpu=name, features="-avx,-sse4.2", triple=X86) for name in ("native", cpu)]
    assert compile_job(without[0]) == compile_job(without[1])  # what is given replaces the machine's


def test_another_target_has_no_native_processor(capfd: pytest.CaptureFixture[str]) -> None:
    assert compile_job(Job(SCALE, cpu="native", triple="aarch64-linux-gnu")).error == (
        "no native processor for 'aarch64-linux-gnu': 'native' is the processor of this machine, "
        f"{binding.get_process_triple()}; name a processor of the target"
    )
    assert capfd.readouterr() == ("", "")


def test_the_command_line_means_the_same(tmp_path: pathlib.Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "module.ll").write_text(SCALE)
    assert main(["sweep", str(tmp_path / "module.ll"), "--cpu", "native", "--format", "json"]) == 0
    [row] = json.loads(capfd.readouterr().out)
    code = compile_job(Job(SCALE, cpu="native")).code
    assert row["attributes"]["digest"] == hashlib.sha256(code).hexdigest()


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
    monkeypatch.setattr("optctx.compiling.fresh.FreshProcess", None)
    assert compile_job(job) == expected


def test_where_no_process_can_be_started_no_target_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    def start() -> FreshProcess:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("optctx.compiling.fresh.FreshProcess", start)
    error = compile_job(Job(SCALE, triple=X86, cpu="skylake", features="-sse4.1")).error
    assert error is not None
    assert error == (
        "cannot compile for skylake and -sse4.1: no process can be started to ask LLVM (Permission denied)"
    )
