"""Options and targets in TVM's notation, and the contexts that they become."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from support import run_python, unrolled
from tvm_targets import FOUR

from optctx import (
    OptionContext,
    OptionTypeError,
    OptionValueError,
    ProcessWideOptionError,
    UnknownOptionError,
)
from optctx.engine.attach import attach
from optctx.errors import TargetError, TargetWarning
from optctx.image.typenames import type_name
from optctx.tvm import (
    ClOption,
    LLVMInstance,
    LLVMTarget,
    Target,
    from_target,
    parse_option_string,
)
from optctx.tvm.notation import items, without_quotes
from optctx.tvm.option import texts_of_option


@pytest.fixture
def instance() -> LLVMInstance:
    return LLVMInstance()


def test_importing_optctx_does_not_import_the_notation() -> None:
    assert run_python("import optctx, sys; print('optctx.tvm' in sys.modules)") == "False\n"


# -name[[:type]=value]


@pytest.mark.parametrize(
    ("text", "option"),
    [
        ("-x", ClOption("x", "bool", True)),
        ("--x=0", ClOption("x", "bool", False)),
        ("-x=TRUE", ClOption("x", "bool", True)),
        ("-x:bool=false", ClOption("x", "bool", False)),
        ("-x-y:int=-4", ClOption("x-y", "int", -4)),
        ("-x:uint=+4294967295", ClOption("x", "uint", 4294967295)),
        ("-x:string=a:b=c, d", ClOption("x", "string", "a:b=c, d")),
        ("-x:string=", ClOption("x", "string", "")),
    ],
)
def test_an_option_is_read(text: str, option: ClOption) -> None:
    assert parse_option_string(text) == option
    assert parse_option_string(str(option)) == option


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("---unroll-factor:uint=0", "expected '-' or '--' in front, found '---'"),
        ("unroll-factor", "expected '-' or '--' in front, found ''"),
        ("-", "expected a name after '-'"),
        ("-:int=1", "expected a name after '-'"),
        ("-option:", "expected bool, int, uint or string after ':', found ''"),
        ("-option:=", "expected bool, int, uint or string after ':', found ''"),
        ("-option:bool", "expected '=' and a value after the type"),
        ("-option:int", "expected '=' and a value after the type"),
        ("-option:bool=", "expected true, false, 1 or 0 after '=', found ''"),
        ("-option:invalidtype=xyz", "expected bool, int, uint or string after ':', found 'invalidtype'"),
        ("-option=2", "found '2'; without a type an option is a bool, others are -name:type=VALUE"),
        ("-option=fred", "expected true, false, 1 or 0 after '=', found 'fred'"),
        ("-option:bool=2", "expected true, false, 1 or 0 after '=', found '2'"),
        ("-option:int=haha", "expected an integer after '=', found 'haha'"),
        ("-option:uint=haha", "expected an integer after '=', found 'haha'"),
        ("-option:int=0x10", "expected an integer after '=', found '0x10'"),
        ("-option:int=\u0664", "expected an integer after '=', found '\u0664'"),
        # TVM warns and takes other numbers.
        ("-option:int=2147483648", "expected -2,147,483,648 to 2,147,483,647 for type int"),
        ("-option:uint=-1", "expected 0 to 4,294,967,295 for type uint, found '-1'"),
        ("-option:uint=" + "9" * 10_000, "expected 0 to 4,294,967,295 for type uint"),
    ],
)
def test_an_option_in_another_form_is_refused(text: str, said: str) -> None:
    with pytest.raises(TargetError, match=re.escape(said)):
        parse_option_string(text)
    with pytest.raises(TargetError) as caught:  # before LLVM is asked for the name
        from_target({"kind": "llvm", "cl-opt": ["-unroll-count:uint=4", text]})
    assert str(caught.value).startswith("cannot use cl-opt[1] '")
    assert said in str(caught.value)


def test_the_type_must_be_the_one_that_llvm_registered() -> None:
    engine = attach()
    allowed = {"bool": {"bool"}, "int": {"int", "uint"}, "uint": {"int", "uint"}, "string": {"string"}}
    values: list[bool | int | str] = [True, 1, 1, "1"]
    matched = 0
    for name, planned in engine.options.items():
        registered = engine.resolve(planned)
        kind = type_name(registered.record.type.kind)
        for (given, kinds), value in zip(allowed.items(), values, strict=True):
            option = ClOption(name, given, value)  # type: ignore[arg-type]  # the keys are the types
            if kind in kinds:
                assert texts_of_option(option, registered) == (str(value).lower(),)
                matched += 1
            else:
                with pytest.raises(OptionTypeError, match=f"LLVM registered {name!r} as {kind}"):
                    texts_of_option(option, registered)
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


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("", "expected the kind \"llvm\", found ''"),
        ("cuda", "expected the kind \"llvm\", found 'cuda'; other kinds, and tags, are TVM's"),
        ("llvm mcpu=x", "expected -key or -key=value, found 'mcpu=x'"),
        ("llvm --", "expected -key or -key=value, found '--'"),
        ("llvm -mcpu=", "expected a value after '-mcpu='"),
        ("llvm -mcpu=a -mcpu=b", "the key 'mcpu' appears more than once"),
        ("llvm -cl-opt='-a", 'a quote in "llvm -cl-opt=\'-a" is not closed'),
        ("llvm -mcpuu=x", "a target of kind \"llvm\" has no key 'mcpuu'; did you mean 'mcpu'?"),
        ("llvm -num-cores=4x", "num-cores: expected an integer, found '4x'"),
        ("llvm -fast-math=2", "fast-math: expected true or false, found '2'"),
        ("llvm -mcpu=\0", "has a NUL or a surrogate"),
        ('{"kind": "llvm"', "expected JSON, found something else at column"),
        ('{"kind": "llvm", "mcpu": "\\ud800"}', "has a NUL or a surrogate"),
        ("[" * 10_000, 'expected the kind "llvm"'),
        ('{"kind":' + "[" * 100_000 + "]" * 100_000 + "}", "expected at most 32 levels, found"),
        ({}, 'it has no kind; write "kind": "llvm"'),
        ({"tag": "nvidia/jetson-nano"}, "the tag alone is TVM's to look up"),
        ({"kind": "llvm", "libs": {"a": "b"}}, "libs: expected a list of strings, found {'a': 'b'}"),
        ({"kind": "llvm", "mattr": "+avx2"}, "mattr: expected a list of strings, found '+avx2'"),
        ({"kind": "llvm", "cl-opt": ["-x", 1]}, "cl-opt[1]: expected a string, found 1"),
        ({"kind": "llvm", "opt-level": 1.5}, "opt-level: expected an int, found 1.5"),
        ({"kind": "llvm", "num-cores": "4"}, "num-cores: expected an int, found '4'"),
        ({"kind": "llvm", "fast-math": 2}, "fast-math: expected true or false, found 2"),
        ({"kind": "llvm", "mcpu": 3}, "mcpu: expected a string, found 3"),
        ({"kind": "llvm", 1: 2}, "expected strings as keys, found 1"),
        ({"kind": "llvm", "from_device": 0}, "cannot use the key 'from_device' here: "),
        ({"kind": "llvm", "features": {}}, "cannot use the key 'features' here: "),
        ({"kind": "llvm", "host": "cuda"}, "host: cannot read the target 'cuda'"),
        (3, "expected a string, a mapping or a Target, found int"),
    ],
)
def test_a_bad_target_is_one_error_that_shows_it(target: Any, said: str) -> None:
    with pytest.raises(TargetError) as caught:
        from_target(target)
    assert str(caught.value).startswith("cannot read the target ")
    assert said in str(caught.value)


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


@pytest.mark.parametrize(
    ("option", "error", "said"),
    [
        ("-unroll-count", OptionTypeError, "LLVM registered 'unroll-count' as uint, the target says bool"),
        ("-enable-gvn-hoist:int=1", OptionTypeError, "write -enable-gvn-hoist:bool=VALUE"),
        ("-regalloc:string=basic", OptionTypeError, "set it in base=OptionContext({'regalloc': ...})"),
        ("-unroll-count:int=-1", OptionValueError, "LLVM says: for the --unroll-count option: '-1' value"),
        ("-unrol-count:uint=4", UnknownOptionError, "did you mean unroll-count?"),
        ("-help", ProcessWideOptionError, "cannot set 'help' for one thread"),
    ],
)
def test_a_bad_option_is_one_error_at_definition(option: str, error: type[Exception], said: str) -> None:
    for make in (from_target, lambda target: LLVMTarget(LLVMInstance(), target)):
        with pytest.raises(error, match=re.escape(said)) as caught:
            make({"kind": "llvm", "cl-opt": ["-unroll-threshold:uint=9", option]})
        assert str(caught.value).startswith(f"cannot use cl-opt[1] {option!r} of the target: ")


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
    with pytest.raises(OptionTypeError, match='unknown is "error" or "warn"'):
        from_target(target, unknown="ignore")  # type: ignore[arg-type]
