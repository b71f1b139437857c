"""Options and targets in TVM's notation, the contexts that they become, and those that a module carries."""

from __future__ import annotations

import copy
import json
import pickle
import re
from typing import Any

import pytest

from optctx import OptionContext, UnknownOptionError, lookup
from optctx.errors import TargetWarning
from optctx.tvm import (
    ClOption,
    LLVMInstance,
    LLVMTarget,
    LLVMTargetInfo,
    Target,
    from_target,
    parse_option_string,
)
from optctx.tvm.notation import items, without_quotes
from tests.support.ir_texts import SCALE, X86

FOUR = "llvm -cl-opt=-unroll-count:uint=4"


@pytest.fixture
def instance() -> LLVMInstance:
    return LLVMInstance()


# -name[[:type]=value]


def test_an_option_is_read() -> None:
    expected = {
        "-x": ClOption("x", "bool", True),
        "--x=0": ClOption("x", "bool", False),
        "-x=TRUE": ClOption("x", "bool", True),
        "-x:bool=false": ClOption("x", "bool", False),
        "-x-y:int=-4": ClOption("x-y", "int", -4),
        "-x:uint=+4294967295": ClOption("x", "uint", 4294967295),
        "-x:string=a:b=c, d": ClOption("x", "string", "a:b=c, d"),
        "-x:string=": ClOption("x", "string", ""),
    }
    assert {text: parse_option_string(text) for text in expected} == expected
    assert [option for option in expected.values() if parse_option_string(str(option)) != option] == []


# Targets


def test_lists_in_one_line_are_split_as_tvm_splits_them() -> None:
    assert without_quotes(r"'\'string with single quote'") == "'string with single quote"
    assert items("-danny,-sammy=1,-kirby='string with space'") == [
        "-danny",
        "-sammy=1",
        "-kirby='string with space'",
    ]
    assert items("'fred, foo, bar',baz") == ["fred, foo, bar", "baz"]
    assert items(r"'fr\'ed','f\'oo',' bar,baz '") == ["fr'ed", "f'oo", "bar,baz"]


def test_one_line_json_and_a_mapping_are_the_same_target() -> None:
    config: dict[str, Any] = {
        "kind": "llvm",
        "mcpu": "cortex-a53",
        "device": "arm_cpu",
        "keys": ["arm_cpu", "cpu"],
        "libs": ["cblas"],
        "mattr": ["+neon", "-avx512f"],
        "num-cores": 4,
        "fast-math": True,
        "cl-opt": ["-unroll-count:uint=3", "-unroll-threshold:uint=100"],
    }
    line = (
        "llvm -mcpu=cortex-a53 --device arm_cpu -keys=arm_cpu,cpu -libs='cblas' -mattr=+neon,-avx512f "
        "-num-cores=4 -fast-math -cl-opt=-unroll-count:uint=3,-unroll-threshold:uint=100"
    )
    target = Target(config)
    assert target == Target(line) == Target(json.dumps(config)) == Target(str(target)) == Target(target)
    turned = Target(dict(reversed(config.items())))
    assert len({target, turned, Target(line), pickle.loads(pickle.dumps(target)), copy.deepcopy(target)}) == 1
    assert target.export() == config
    assert target.keys == ("arm_cpu", "cpu")
    assert target != Target("llvm")
    assert Target("llvm").keys == ("cpu",)
    # As TVM prints it, with what it derives.
    text = (
        '{"kind":"llvm","tag":"","feature.has_sme":false,"device":"arm_cpu",'
        '"cl-opt":["-unroll-count:uint=4"]}'
    )
    assert from_target(text).overrides == {"unroll-count": 4}
    assert Target(text).keys == ("arm_cpu", "cpu")
    assert Target(Target(text).export()) == Target(text)


def test_a_target_has_a_host() -> None:
    target = Target("llvm -host=llvm")
    assert target.host == Target({"kind": "llvm"})
    assert target == Target("llvm", "llvm") == Target("llvm").with_host("llvm")
    assert Target(str(Target("llvm", FOUR))).host == Target(FOUR)
    assert Target("llvm").host is None
    assert pickle.loads(pickle.dumps(target)) == target


# Contexts


def test_a_target_becomes_a_context() -> None:
    """The last of several values counts; int and uint stand for each other."""
    four = OptionContext({"unroll-count": 4})
    assert from_target(FOUR) == from_target({"kind": "llvm", "cl-opt": ["-unroll-count:int=4"]}) == four
    assert from_target("llvm -mcpu=no-such -mtriple=nonsense").overrides == {}  # for LLVMTarget to refuse
    assert from_target("llvm -cl-opt=-unroll-count:uint=2,-unroll-count:uint=4") == four
    size = OptionContext({"aarch64-streaming-hazard-size": 3})  # which has another name, too
    names = ("stack", "streaming", "stack")
    given = [f"-aarch64-{name}-hazard-size:uint={count}" for count, name in enumerate(names, 1)]
    assert from_target({"kind": "llvm", "cl-opt": given}) == size
    own = [
        "-inline-threshold:uint=9",
        "-enable-gvn-hoist",
        "-asan-memory-access-callback-prefix:string=a:b=c",
    ]
    overrides = from_target({"kind": "llvm", "cl-opt": own}, base=four).overrides
    assert list(overrides.values()) == [9, True, "a:b=c"]
    assert from_target("llvm", base=four) == four


def test_an_option_that_llvm_does_not_have_is_left_out_only_where_that_is_asked_for(
    instance: LLVMInstance,
) -> None:
    target = "llvm -cl-opt=-not-an-option:uint=123,-unroll-count:uint=4"
    said = re.escape("cl-opt[0] '-not-an-option:uint=123' of the target is left out")
    for make in (from_target, lambda *args, **kw: LLVMTarget(instance, *args, **kw)):
        with pytest.raises(UnknownOptionError):
            make(target)
        with pytest.warns(TargetWarning, match=said) as warned:
            context = make(target, unknown="warn")
        assert warned[0].filename == __file__
        assert context.overrides == {"unroll-count": 4}
    assert "not-an-option" not in str(context)


# Modules


def test_the_target_in_a_module_is_replaced_and_stays_with_the_other_flags(instance: LLVMInstance) -> None:
    module = instance.parse_ir(SCALE + '!llvm.module.flags = !{!0}\n!0 = !{i32 7, !"PIC Level", i32 2}')
    for count in (4, 8, 8):
        target = LLVMTarget(instance, f"llvm -mtriple={X86} -cl-opt=-unroll-count:uint={count}")
        target.set_target_metadata(module)
    module.verify()  # each flag once
    target.optimize(module)
    read = LLVMInstance().parse_ir(module.as_bitcode())
    assert str(read).count("tvm_target") == 1
    assert '!"PIC Level", i32 2' in str(read)
    assert LLVMTarget.get_target_metadata(read) == str(target)


def flagged(instance: LLVMInstance, flag: str) -> Any:
    text = f'target triple = "{X86}"\n!llvm.module.flags = !{{!0}}\n!0 = !{{i32 2, !"tvm_target", {flag}}}'
    return instance.parse_ir(text)


def test_what_a_module_says_is_read_as_tvm_reads_it(instance: LLVMInstance) -> None:
    plain = {"kind": "llvm", "mtriple": X86}
    bare = instance.parse_ir(f'target triple = "{X86}"')
    for module in (bare, flagged(instance, '!"elsewhere"')):
        assert json.loads(LLVMTarget.get_target_metadata(module)) == plain
    assert LLVMTarget.get_target_metadata(flagged(instance, f'!"{FOUR}"')) == FOUR
    unknown = LLVMTarget.get_target_metadata(flagged(instance, '!"llvm -cl-opt=-of-another-llvm"'))
    with pytest.raises(UnknownOptionError):
        LLVMTarget(instance, unknown)
    trusted = flagged(instance, '!"llvm -cl-opt=-print-after-all"')  # which its reader has to say
    with LLVMTarget(instance, LLVMTarget.get_target_metadata(trusted, trust=("output",))):
        assert lookup("print-after-all") is True


# What TVM 0.27 writes into the metadata of a module for a target.
WRITTEN: list[tuple[dict[str, Any], str]] = [
    (
        {
            "mcpu": "skylake",
            "mattr": ["+avx2"],
            "cl-opt": ["--unroll-count:int=4", "-enable-gvn-hoist"],
            "opt-level": 2,
        },
        '"mcpu":"skylake","mattr":["+avx2"],"opt-level":2,'
        '"cl-opt":["-unroll-count:int=4","-enable-gvn-hoist:bool=true"]',
    ),
    (
        {"fast-math": True, "cl-opt": ["-unroll-count:uint=4", "-unroll-count:uint=8"], "num-cores": 4},
        '"fast-math":true,"cl-opt":["-unroll-count:uint=4","-unroll-count:uint=8"]',
    ),
    (
        {"fast-math-nnan": 1, "fast-math-contract": True, "opt-level": 9, "jit": "mcjit"},
        '"fast-math-nnan":true,"fast-math-contract":true,"jit":"mcjit"',
    ),
    ({"opt-level": False, "vector-width": 64}, '"opt-level":0,"vector-width":64'),
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
