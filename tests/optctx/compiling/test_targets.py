"""What the target of a module knows is taken; what is refused is in `refusals/targets.txt`."""

from __future__ import annotations

import json
import pathlib

import pytest

from optctx.compiling import FreshProcess, Job, compile_job
from optctx.lab.command.main import main
from optctx.lab.sweep import sweep
from tests.support.ir_texts import SCALE, X86

AARCH64 = "aarch64-unknown-linux-gnu"
OF_AARCH64 = f'target triple = "{AARCH64}"\n{SCALE}'


@pytest.mark.parametrize(("cpu", "features"), [("cortex-a72", "+sve"), ("", "+sve,-lse"), ("generic", "")])
def test_what_the_modules_own_target_knows_is_taken(cpu: str, features: str, fresh: FreshProcess) -> None:
    job = Job(OF_AARCH64, cpu=cpu, features=features)
    result = compile_job(job)
    assert result.error is None
    assert fresh.compile(job) == result
    assert result == compile_job(Job(SCALE, triple=AARCH64, cpu=cpu, features=features))
    [row] = sweep(job, [])
    assert (row.state, row.attributes["size"]) == ("ok", len(result.code))


def test_the_command_line_takes_the_processor_of_a_modules_own_target(
    tmp_path: pathlib.Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "module.ll").write_text(OF_AARCH64)
    assert main(["sweep", str(tmp_path / "module.ll"), "--cpu", "cortex-a72", "--format", "json"]) == 0
    [row] = json.loads(capfd.readouterr().out)
    assert row["attributes"]["size"] == len(compile_job(Job(OF_AARCH64, cpu="cortex-a72")).code)


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
    monkeypatch.setattr("optctx.compiling.check.FreshProcess", None)
    assert compile_job(job) == expected


def test_where_no_process_can_be_started_no_target_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    def start() -> FreshProcess:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("optctx.compiling.check.FreshProcess", start)
    error = compile_job(Job(SCALE, triple=X86, cpu="skylake", features="-sse4.1")).error
    assert error is not None
    assert error == (
        "cannot compile for skylake and -sse4.1: no process can be started to ask LLVM (Permission denied)"
    )
