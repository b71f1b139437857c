"""`cpu="native"`: the processor of this machine, in a Job and on the command line alike."""

from __future__ import annotations

import hashlib
import json
import pathlib

import pytest
from llvmlite import binding

from optctx.compiling import FreshProcess, Job, compile_job
from optctx.lab.command.main import main

KERNEL = pathlib.Path(__file__).parents[3] / "examples" / "kernel.ll"
IR = KERNEL.read_text()


def test_native_is_the_processor_of_this_machine_with_its_features(fresh: FreshProcess) -> None:
    host = Job(IR, cpu=binding.get_host_cpu_name(), features=binding.get_host_cpu_features().flatten())
    expected = compile_job(host)
    assert expected.error is None
    assert compile_job(Job(IR, cpu="native")) == expected
    assert fresh.compile(Job(IR, cpu="native")) == expected


def test_features_that_are_given_replace_those_of_the_machine() -> None:
    without = Job(IR, cpu=binding.get_host_cpu_name(), features="-avx,-sse4.2", triple="x86_64-linux-gnu")
    native = Job(IR, cpu="native", features="-avx,-sse4.2", triple="x86_64-linux-gnu")
    assert compile_job(native) == compile_job(without)


def test_the_command_line_means_the_same(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", str(KERNEL), "--cpu", "native", "--format", "json"]) == 0
    [row] = json.loads(capfd.readouterr().out)
    assert row["attributes"]["digest"] == hashlib.sha256(compile_job(Job(IR, cpu="native")).code).hexdigest()


def test_another_target_has_no_native_processor(capfd: pytest.CaptureFixture[str]) -> None:
    result = compile_job(Job(IR, cpu="native", triple="aarch64-linux-gnu"))
    assert result.error == (
        "no native processor for 'aarch64-linux-gnu': 'native' is the processor of this machine, "
        f"{binding.get_process_triple()}; name a processor of the target"
    )
    assert capfd.readouterr() == ("", "")
