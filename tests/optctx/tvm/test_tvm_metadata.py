"""Targets that travel with a module, written and read as TVM does."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from optctx import UnknownOptionError, lookup
from optctx.compiling import FreshProcess
from optctx.errors import TargetWarning
from optctx.tvm import LLVMInstance, LLVMTarget, LLVMTargetInfo, Target, from_target
from tests.optctx.tvm.tvm_targets import EIGHT, FOUR, TARGETS, reference
from tests.support.ir_texts import SCALE, X86


@pytest.fixture
def instance() -> LLVMInstance:
    return LLVMInstance()


def test_a_target_travels_through_bitcode(instance: LLVMInstance, fresh: FreshProcess) -> None:
    config = TARGETS["vectors"]
    module = instance.parse_ir(SCALE)
    written = LLVMTarget(instance, {"kind": "llvm", "mtriple": X86, **config})
    written.set_target_metadata(module)

    elsewhere = LLVMInstance()
    read = elsewhere.parse_ir(module.as_bitcode())
    text = LLVMTarget.get_target_metadata(read)
    assert text == str(written)
    assert json.loads(text) == {"kind": "llvm", "mtriple": X86, **config}
    with LLVMTarget(elsewhere, text) as target:
        assert target == written
        target.optimize(read)
        assert LLVMTarget.get_target_metadata(read) == text  # passes keep it
    expected, _ = reference(fresh, "scale", config)
    assert body(str(read)) == body(expected or "")


def test_the_target_in_a_module_is_replaced_and_other_flags_stay(instance: LLVMInstance) -> None:
    module = instance.parse_ir('!llvm.module.flags = !{!0}\n!0 = !{i32 7, !"PIC Level", i32 2}')
    for text in (FOUR, EIGHT, EIGHT):
        LLVMTarget(instance, text).set_target_metadata(module)
    module.verify()  # each flag once
    assert str(module).count("tvm_target") == 1
    assert '!"PIC Level", i32 2' in str(module)
    assert json.loads(LLVMTarget.get_target_metadata(module))["cl-opt"] == ["-unroll-count:uint=8"]


def body(text: str) -> str:
    """The instructions of the one function in a module; numbers of metadata depend on what else is there."""
    function = re.search("^define .*?^}", text, re.DOTALL | re.MULTILINE)
    assert function is not None
    return re.sub(r"!\d+", "!", function[0])


def flagged(instance: LLVMInstance, flag: str) -> Any:
    text = f'target triple = "{X86}"\n!llvm.module.flags = !{{!0}}\n!0 = !{{i32 2, !"tvm_target", {flag}}}'
    return instance.parse_ir(text)


def test_what_a_module_says_is_read_as_tvm_reads_it(instance: LLVMInstance) -> None:
    plain = {"kind": "llvm", "mtriple": X86}
    assert json.loads(LLVMTarget.get_target_metadata(flagged(instance, '!"elsewhere"'))) == plain
    bare = instance.parse_ir(f'target triple = "{X86}"')
    assert json.loads(LLVMTarget.get_target_metadata(bare)) == plain
    line = LLVMTarget.get_target_metadata(flagged(instance, f'!"{FOUR}"'))
    assert line == FOUR
    unknown = LLVMTarget.get_target_metadata(flagged(instance, '!"llvm -cl-opt=-of-another-llvm"'))
    with pytest.raises(UnknownOptionError):
        LLVMTarget(instance, unknown)
    with pytest.warns(TargetWarning):
        LLVMTarget(instance, unknown, unknown="warn")


def test_a_module_may_set_what_its_reader_trusts(instance: LLVMInstance) -> None:
    module = flagged(instance, '!"llvm -cl-opt=-print-after-all"')
    text = LLVMTarget.get_target_metadata(module, trust=("output",))
    with LLVMTarget(instance, text):
        assert lookup("print-after-all") is True


# What TVM 0.27 writes into the metadata of a module for a target.
WRITTEN: list[tuple[dict[str, Any], str]] = [
    (
        {
            "mcpu": "skylake",
            "mattr": ["+avx2"],
            "cl-opt": ["-unroll-count:uint=4", "-enable-gvn-hoist"],
            "opt-level": 2,
        },
        '"mcpu":"skylake","mattr":["+avx2"],"opt-level":2,'
        '"cl-opt":["-unroll-count:uint=4","-enable-gvn-hoist:bool=true"]',
    ),
    (
        {"cl-opt": ["--unroll-count:int=4"], "jit": "mcjit", "num-cores": 4},
        '"cl-opt":["-unroll-count:int=4"],"jit":"mcjit"',
    ),
    (
        {"fast-math": True, "cl-opt": ["-unroll-count:uint=4", "-unroll-count:uint=8"]},
        '"fast-math":true,"cl-opt":["-unroll-count:uint=4","-unroll-count:uint=8"]',
    ),
    (
        {"fast-math-nnan": 1, "fast-math-contract": True, "opt-level": 9},
        '"fast-math-nnan":true,"fast-math-contract":true',
    ),
    ({"opt-level": False}, '"opt-level":0'),
]


def test_the_text_of_a_target_is_tvms(instance: LLVMInstance) -> None:
    for config, text in WRITTEN:
        info = LLVMTargetInfo(instance, {"kind": "llvm", "mtriple": "x86_64-linux-gnu", **config})
        assert str(info) == f'{{"kind":"llvm","mtriple":"x86_64-linux-gnu",{text}}}'
        again = LLVMTarget(instance, str(info))
        assert str(again) == str(info)
        assert again.matches_global_state() is (not info.command_line_options), text
        with again:
            assert info.matches_global_state(), text


def test_what_tvm_prints_of_a_target_is_read() -> None:
    text = (
        '{"kind":"llvm","tag":"","keys":["arm_cpu","cpu"],"feature.has_sme":false,"feature.is_aarch64":true,'
        '"mtriple":"aarch64-linux-gnu","mattr":["+neon"],"libs":["cblas"],"device":"arm_cpu",'
        '"cl-opt":["-unroll-count:uint=4"]}'
    )
    assert from_target(text).overrides == {"unroll-count": 4}
    assert Target(text).keys == ("arm_cpu", "cpu")
    assert Target(Target(text).export()) == Target(text)
