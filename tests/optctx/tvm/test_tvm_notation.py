"""Options and targets in TVM's notation, and the contexts that they become."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from optctx import OptionContext, OptionTypeError, UnknownOptionError, registry
from optctx.errors import TargetWarning
from optctx.tvm import ClOption, LLVMInstance, LLVMTarget, Target, from_target, parse_option_string
from optctx.tvm.notation import items, without_quotes
from optctx.tvm.options import check_type
from tests.optctx.tvm.tvm_targets import FOUR
from tests.support.processes import run_python
from tests.support.scopes import unrolled


@pytest.fixture
def instance() -> LLVMInstance:
    return LLVMInstance()


def test_importing_optctx_does_not_import_the_notation() -> None:
    assert run_python("import optctx, sys; print('optctx.tvm' in sys.modules)") == "False\n"


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


def test_the_type_must_be_the_one_that_llvm_registered() -> None:
    allowed = {"bool": {"bool"}, "int": {"int", "uint"}, "uint": {"int", "uint"}, "string": {"string"}}
    values: list[bool | int | str] = [True, 1, 1, "1"]
    matched = 0
    for name, registered in registry().items():
        kind = registered.type
        for (given, kinds), value in zip(allowed.items(), values, strict=True):
            option = ClOption(name, given, value)  # type: ignore[arg-type]  # the keys are the types
            if kind in kinds:
                check_type(option, kind)
                matched += 1
            else:
                with pytest.raises(OptionTypeError, match=f"LLVM registered {name!r} as {kind}"):
                    check_type(option, kind)
    assert matched > 2000


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
        "opt-level": 2,
        "cl-opt": ["-unroll-count:uint=3", "-unroll-threshold:uint=100"],
        "vector-width": 256,
    }
    line = (
        "llvm -mcpu=cortex-a53 --device arm_cpu -keys=arm_cpu,cpu -libs='cblas' -mattr=+neon,-avx512f "
        "-num-cores=4 -fast-math -opt-level 2 -cl-opt=-unroll-count:uint=3,-unroll-threshold:uint=100 "
        "-vector-width=256"
    )
    target = Target(config)
    assert target == Target(line) == Target(json.dumps(config)) == Target(str(target)) == Target(target)
    assert hash(target) == hash(Target(json.dumps(config)))
    assert target.export() == config
    assert target.keys == ("arm_cpu", "cpu")
    assert target.attrs["cl-opt"] == ("-unroll-count:uint=3", "-unroll-threshold:uint=100")
    assert target != Target("llvm")
    assert Target("llvm").keys == ("cpu",)


def test_a_target_has_a_host() -> None:
    target = Target("llvm -host=llvm")
    assert target.host == Target({"kind": "llvm"})
    assert target == Target("llvm", "llvm") == Target("llvm").with_host("llvm")
    assert Target(str(Target("llvm", FOUR))).host == Target(FOUR)
    assert Target("llvm").host is None


# Contexts


def test_a_target_becomes_a_context() -> None:
    four = OptionContext({"unroll-count": 4})
    assert from_target(FOUR) == from_target({"kind": "llvm", "cl-opt": ["-unroll-count:int=4"]}) == four
    assert from_target("llvm -mcpu=no-such -mtriple=nonsense").overrides == {}  # for LLVMTarget to refuse
    assert from_target("llvm -cl-opt=-unroll-count:uint=2,-unroll-count:uint=4") == four
    with from_target(FOUR):
        assert unrolled() == 4
    assert from_target("llvm -cl-opt=-enable-gvn-hoist").overrides == {"enable-gvn-hoist": True}
    assert from_target("llvm -cl-opt=-unroll-count:uint=8", base=four)["unroll-count"] == 8


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
