"""Targets in TVM's notation, and objects of TVM's shape, held against the rules of TVM's own tests."""

from __future__ import annotations

import ctypes
import functools
import json
import pathlib
import pickle
import re
import threading
from typing import Any

import pytest
from ir_texts import CALLS, COUNTED, SCALE, X86
from llvmlite import binding, ir
from support import SECONDS, in_threads, run_python, unrolled

import optctx.tvm
from optctx import (
    OptctxError,
    OptionContext,
    OptionTypeError,
    OptionValueError,
    ProcessWideOptionError,
    ScopeError,
    UnknownOptionError,
    UnreadOptionError,
    UntrustedOptionError,
    current,
    lookup,
    run_passes,
    unbind,
)
from optctx.engine.attach import attach
from optctx.errors import TargetError, TargetWarning
from optctx.fresh import FreshProcess, Job
from optctx.image.typenames import type_name
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
from optctx.tvm.option import texts_of_option

FOUR = "llvm -cl-opt=-unroll-count:uint=4"
EIGHT = '{"kind": "llvm", "cl-opt": ["-unroll-count:uint=8"]}'


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
        ('{"kind": "llvm"', "it is no JSON: "),
        ('{"kind": "llvm", "mcpu": "\\ud800"}', "has a NUL or a surrogate"),
        ("[" * 10_000, 'expected the kind "llvm"'),
        ('{"kind":' + "[" * 100_000, "it is no JSON: "),
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


# LLVMInstance


def test_an_instance_reads_text_bitcode_and_files(instance: LLVMInstance, tmp_path: pathlib.Path) -> None:
    module = instance.parse_ir(COUNTED)
    bitcode = module.as_bitcode()
    (tmp_path / "a.ll").write_text(COUNTED)
    (tmp_path / "a.bc").write_bytes(bitcode)
    texts = [
        re.sub("(?m)^(;|source_filename).*\n", "", str(each))
        for each in (
            module,
            instance.parse_ir(COUNTED.encode()),
            instance.parse_ir(bitcode),
            instance.load_ir(tmp_path / "a.ll"),
            instance.load_ir(str(tmp_path / "a.bc")),
        )
    ]
    assert len(set(texts)) == 1
    assert "store volatile" in texts[0]
    assert optctx.tvm.LLVMScope is LLVMInstance


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nonsense", "LLVM IR parsing error"),
        (b"BC\xc0\xde nonsense", "LLVM bitcode parsing error"),
        (b"\xff\xff", "can't decode byte 0xff"),
        ("\0", "found a NUL character"),
    ],
)
def test_what_is_no_module_is_an_error(instance: LLVMInstance, text: str | bytes, said: str) -> None:
    with pytest.raises(OptctxError, match=f"cannot read the module <string>: .*{said}"):
        instance.parse_ir(text)


def test_an_instance_ends_and_its_modules_stay(tmp_path: pathlib.Path) -> None:
    with LLVMInstance() as instance:
        target = LLVMTarget(instance, FOUR)
        module = instance.parse_ir(COUNTED)
    with pytest.raises(ScopeError, match="cannot use an LLVMInstance that is closed"):
        instance.parse_ir(COUNTED)
    with pytest.raises(ScopeError), instance:
        pass
    with pytest.raises(ScopeError):
        assert target.llvm_context
    with pytest.raises(ScopeError):
        LLVMTarget(instance, FOUR)
    assert "store volatile" in str(module)
    with pytest.raises(OptionTypeError, match="read from str or bytes, found int"):
        LLVMInstance().parse_ir(3)  # type: ignore[arg-type]
    with pytest.raises(OSError, match=r"no\.ll"):
        LLVMInstance().load_ir(tmp_path / "no.ll")


# LLVMTarget


def test_options_are_in_force_inside_and_restored_after(instance: LLVMInstance) -> None:
    info = LLVMTargetInfo(instance, "llvm -cl-opt=-print-after-all")  # TVM's LLVMCommandLineSaveRestore
    assert not info.matches_global_state()
    with LLVMTarget(instance, info) as target:
        assert info.matches_global_state()
        assert target.matches_global_state()
        assert current() is target
    assert not info.matches_global_state()


def test_targets_nest(instance: LLVMInstance) -> None:
    before = unrolled()
    with LLVMTarget(instance, FOUR) as outer:
        assert unrolled() == 4
        with LLVMTarget(instance, EIGHT):  # TVM lets one target modify LLVM at a time
            assert unrolled() == 8
            with outer:
                assert unrolled() == 4
            assert unrolled() == 8
        with LLVMTarget(instance, "llvm"):
            assert unrolled() == 4  # on top of what is in force, as TVM does
        with LLVMTarget(instance, "llvm", base="defaults"):
            assert unrolled() == before
        with pytest.raises(ZeroDivisionError), LLVMTarget(instance, EIGHT):
            raise ZeroDivisionError
        assert unrolled() == 4
    assert unrolled() == before


def test_a_target_is_a_context(instance: LLVMInstance) -> None:
    target = LLVMTarget(instance, FOUR)
    assert target == OptionContext({"unroll-count": 4})
    assert target["unroll-count"] == 4
    assert target.run(unrolled) == 4
    derived = target.derive(unroll_threshold=9)
    assert type(derived) is OptionContext
    assert derived.overrides == {"unroll-count": 4, "unroll-threshold": 9}
    copy = pickle.loads(pickle.dumps(target))
    assert type(copy) is OptionContext
    assert copy == target
    with OptionContext(unroll_count=2), target, OptionContext(unroll_threshold=9):
        assert lookup("unroll-count") == 4


@pytest.mark.redirected
def test_a_target_can_be_bound_and_judged(instance: LLVMInstance) -> None:
    LLVMTarget(instance, FOUR).bind(instance.llvm_context)
    try:
        module = instance.parse_ir(COUNTED)
        run_passes(module, "function(loop-unroll)")
        assert str(module).count("store volatile") == 4
    finally:
        unbind(instance.llvm_context)
    unread = "llvm -cl-opt=-hexagon-initial-cfg-cleanup=false"
    target = LLVMTarget(instance, unread, unread="error")
    with pytest.raises(UnreadOptionError, match="LLVM did not read 1 of the options that LLVMTarget"), target:
        target.optimize(instance.parse_ir(COUNTED))


KERNELS = {"counted": COUNTED, "scale": SCALE, "calls": CALLS}
TARGETS: dict[str, dict[str, Any]] = {
    "plain": {},
    "unrolled": {"cl-opt": ["-unroll-count:uint=3", "-unroll-runtime"]},
    "vectors": {"cl-opt": ["-force-vector-width:uint=8", "-force-vector-interleave:uint=2"]},
    "inlined": {"cl-opt": ["-inline-threshold:int=0"], "opt-level": 2},
    "skylake": {"cl-opt": ["-force-vector-width:uint=16"], "mcpu": "skylake", "mattr": ["-avx2"]},
}


def reference(fresh: FreshProcess, kernel: str, config: dict[str, Any]) -> tuple[str | None, bytes]:
    """IR and object of a fresh process with the options of a target on its command line."""
    options = tuple(re.sub(":[a-z]+=", "=", text) for text in config.get("cl-opt", ()))
    level = config.get("opt-level", 3)
    done = fresh.compile(
        Job(
            KERNELS[kernel],
            f"default<O{level}>",
            options,
            triple=X86,
            cpu=config.get("mcpu", "generic"),
            features=",".join(config.get("mattr", ())),
            opt_level=level,
            emit="both",
        )
    )
    assert done.error is None
    return done.ir, done.code


def compiled(instance: LLVMInstance, kernel: str, config: dict[str, Any]) -> tuple[str | None, bytes]:
    """The same through a target."""
    target = LLVMTarget(instance, {"kind": "llvm", "mtriple": X86, **config})
    module = instance.parse_ir(KERNELS[kernel])
    target.optimize(module)
    text = str(module)
    code = target.emit_object(module)
    assert str(module) == text  # a copy was emitted
    return text, code


@pytest.mark.parametrize("name", TARGETS)
def test_code_is_that_of_a_fresh_process(instance: LLVMInstance, fresh: FreshProcess, name: str) -> None:
    for kernel in KERNELS:
        expected = reference(fresh, kernel, TARGETS[name])
        text, code = compiled(instance, kernel, TARGETS[name])
        assert text == expected[0]
        if kernel != "calls":  # position-independent code calls through the table
            assert code == expected[1]
    texts = {str(compiled(instance, kernel, TARGETS[name])) for kernel in KERNELS}
    plain = {str(compiled(instance, kernel, TARGETS["plain"])) for kernel in KERNELS}
    assert (texts == plain) is (name == "plain")


@pytest.mark.redirected
def test_threads_compile_for_targets_of_their_own_at_once(fresh: FreshProcess) -> None:
    inside = threading.Barrier(len(TARGETS))
    found: dict[str, tuple[str, str]] = {}

    def compile_scale(name: str, config: dict[str, Any]) -> None:
        instance = LLVMInstance()
        with LLVMTarget(instance, {"kind": "llvm", "mtriple": X86, **config}) as target:
            inside.wait(SECONDS)
            module = instance.parse_ir(SCALE)
            machine = target.get_or_create_target_machine()
            module.triple, module.data_layout = X86, str(machine.target_data)
            run_passes(module, f"default<O{target.opt_level}>", target_machine=machine)
            found[name] = str(module), target.emit_assembly(module)
            inside.wait(SECONDS)

    in_threads([functools.partial(compile_scale, *each) for each in TARGETS.items()])
    for name, config in TARGETS.items():
        assert found[name][0] == reference(fresh, "scale", config)[0]
    assert len({assembly for _, assembly in found.values()}) >= 4


# The target machine


def test_everything_that_a_target_says_reaches_the_machine(instance: LLVMInstance) -> None:
    generic = LLVMTarget(instance, {"kind": "llvm", "mtriple": X86})
    module = instance.parse_ir(SCALE)
    generic.optimize(module)
    assert "xmm" in generic.emit_assembly(module)
    skylake = {"kind": "llvm", "mtriple": X86, "mcpu": "skylake", "mattr": ["-avx2"]}
    info = LLVMTargetInfo(instance, skylake)
    assert (info.target_triple, info.cpu, info.target_feature_string) == (X86, "skylake", "-avx2")
    machine = info.get_or_create_target_machine()
    assert machine is info.get_or_create_target_machine()
    module = instance.parse_ir(SCALE)
    LLVMTarget(instance, info).optimize(module)
    assert "ymm" in LLVMTarget(instance, info).emit_assembly(module)

    unoptimised = LLVMTarget(instance, "llvm -opt-level=-1")
    assert unoptimised.opt_level == 0
    assert LLVMTargetInfo(instance, "llvm -opt-level=9").opt_level == 3
    before = instance.parse_ir(SCALE)
    unoptimised.optimize(before)
    assert "<4 x float>" not in str(before)
    assert "<4 x float>" in str(module) or "<8 x float>" in str(module)


def test_an_abi_reaches_the_machine(instance: LLVMInstance) -> None:
    text = "define double @f(double %x) { %y = fadd double %x, %x\n ret double %y }"
    found = {}
    for abi in ("lp64", "lp64d"):
        target = LLVMTarget(instance, f"llvm -mtriple=riscv64-linux -mattr=+d -mabi={abi}")
        found[abi] = target.emit_assembly(instance.parse_ir(text))
    assert "fadd.d\tfa0, fa0, fa0" in found["lp64d"]
    assert "fmv.d.x" in found["lp64"]


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("llvm -mtriple=x86_46-linux", "LLVM has no target called 'x86_46'; did you mean x86_64?"),
        ("llvm -mcpu=skylak", "cannot compile for the processor 'skylak': it is no processor of x86_64"),
        ("llvm -mtriple=arm-apple-darwin-elf", "'arm-apple-darwin-elf': the fresh process was killed"),
        ("llvm -mattr=avx2", "mattr: expected +avx2 to turn avx2 on, or -avx2 to turn it off, found 'avx2'"),
        ("llvm -mcpu=help", "cannot compile for 'help'"),
        ("llvm -mattr=+cpuhelp", "cannot compile for 'help'"),
        ("llvm -mattr=+avx22", "cannot compile for the feature '+avx22': it is no feature of x86_64"),
        ("llvm -mfloat-abi=firm", 'mfloat-abi: expected "hard" or "soft", found \'firm\''),
        (
            "llvm -mtriple=x86_64-linux -mfloat-abi=hard",
            "cannot make a target machine with mfloat-abi 'hard'",
        ),
        ("llvm -mtriple=armv7a-linux-gnueabi -mfloat-abi=hard", "write an mtriple that says it"),
        ("llvm -mtriple=x86_64-linux -mabi=ms", "'x86_64-linux' has one ABI; leave mabi out"),
        ("llvm -mtriple=arm-linux-gnueabi -mabi=lp64", "expected one of aapcs, aapcs-linux, apcs-gnu"),
        ("llvm -mtriple=riscv64-linux -mabi=lp64d", "add +d to mattr"),
        ("llvm -jit=tinyjit", 'jit: expected "orcjit" or "mcjit", found \'tinyjit\''),
        ("llvm -vector-width=0", "vector-width: expected 1 to 65536, found 0"),
        ("llvm -vector-width=65537", "vector-width: expected 1 to 65536, found 65537"),
    ],
)
def test_a_machine_that_cannot_be_made_is_one_error(instance: LLVMInstance, target: str, said: str) -> None:
    with pytest.raises(TargetError, match=re.escape(said)):
        LLVMTargetInfo(instance, target)


def test_a_float_abi_may_repeat_what_the_triple_says(instance: LLVMInstance) -> None:
    for triple, abi in (("armv7a-linux-gnueabihf", "hard"), ("armv7a-linux-gnueabi", "soft")):
        info = LLVMTargetInfo(instance, f"llvm -mtriple={triple} -mfloat-abi={abi}")
        assert json.loads(str(info))["mfloat-abi"] == abi


def test_an_unknown_processor_becomes_the_generic_one_where_that_is_asked_for(instance: LLVMInstance) -> None:
    with pytest.warns(TargetWarning, match="processor 'skylak': .*; the target uses mcpu 'generic'"):
        info = LLVMTargetInfo(instance, "llvm -mcpu=skylak", unknown="warn")
    assert info.cpu == "generic"
    assert LLVMTarget(instance, info).cpu == "generic"


def test_fast_math_flags_are_those_of_llvmlites_builder(instance: LLVMInstance) -> None:
    def text(target: str) -> str:
        module, double = ir.Module(), ir.DoubleType()
        function = ir.Function(module, ir.FunctionType(double, [double]), "f")
        builder = ir.IRBuilder(function.append_basic_block())
        flags = LLVMTargetInfo(instance, target).fast_math_flags
        builder.ret(builder.fadd(function.args[0], ir.Constant(double, 0.0), flags=flags))
        parsed = instance.parse_ir(str(module))
        LLVMTarget(instance, target).optimize(parsed)
        return str(parsed)

    flags = ("reassoc", "nnan", "ninf", "nsz", "arcp", "contract", "afn")
    some = LLVMTargetInfo(instance, "llvm -fast-math-nnan -fast-math-contract")
    assert some.fast_math_flags == ("nnan", "contract")
    every = LLVMTargetInfo(instance, {"kind": "llvm", **{f"fast-math-{flag}": True for flag in flags}})
    assert every.fast_math_flags == ("fast",)
    assert "fadd" in text("llvm -fast-math=0 -fast-math-nnan")  # x + 0.0 is not x for -0.0
    assert "fadd" not in text("llvm -fast-math-nsz")
    assert "fadd" not in text("llvm -fast-math")


def test_the_widths_of_vectors_are_tvms(instance: LLVMInstance) -> None:
    def width(target: str) -> int:
        return LLVMTargetInfo(instance, target).vector_width

    assert width("llvm -vector-width=1024") == 1024
    assert width("llvm -mtriple=x86_64-linux") == 512
    assert width("llvm -mtriple=i686-linux") == 256
    assert width("llvm -mtriple=aarch64-linux") == 128
    with pytest.raises(TargetError, match="no vector width is known for riscv64-linux"):
        width("llvm -mtriple=riscv64-linux")


@pytest.mark.parametrize("engine", ["orcjit", "mcjit"])
def test_compiled_code_runs(instance: LLVMInstance, engine: str) -> None:
    target = LLVMTarget(instance, f"llvm -jit={engine} -cl-opt=-force-vector-width:uint=4")
    module = instance.parse_ir(SCALE + "define internal void @hidden() { ret void }")
    target.optimize(module)
    functions = target.load(module)
    assert list(functions) == ["scale"]
    assert len(functions) == 1
    given, made = (ctypes.c_float * 5)(1, 2, 3, 4, 5), (ctypes.c_float * 5)()
    scale = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(functions["scale"])
    scale(ctypes.addressof(made), ctypes.addressof(given), 5)
    assert list(made) == [3, 6, 9, 12, 15]
    with pytest.raises(TargetError, match="this process has no function 'use'"):
        target.load(instance.parse_ir(CALLS))


def test_code_of_another_architecture_is_neither_compiled_nor_loaded(instance: LLVMInstance) -> None:
    other = "aarch64-linux" if binding.get_process_triple().startswith("x86_64") else "x86_64-linux"
    module = instance.parse_ir(COUNTED)
    with pytest.raises(TargetError, match=f"cannot run code for {other} in this process"):
        LLVMTarget(instance, f"llvm -mtriple={other}").load(module)
    module.triple = other
    target = LLVMTarget(instance, "llvm")
    for work in (target.optimize, target.emit_object, target.emit_assembly):
        with pytest.raises(TargetError, match=f"cannot compile a module for '{other}' with a target for"):
            work(module)


# Metadata


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


@pytest.mark.parametrize(
    ("flag", "error", "said"),
    [
        ("i32 1", TargetError, "expected text as the module flag 'tvm_target'"),
        (r'!"{\FF"', TargetError, "expected UTF-8 in the module flag 'tvm_target'"),
        ('!"{"', TargetError, "it is no JSON: "),
        ('!"llvm -mcpuu=x"', TargetError, "has no key 'mcpuu'"),
        (f'!"llvm {"x" * 70_000}"', TargetError, "at most 10,000 flags are read"),
        ('!"llvm -cl-opt=-unroll-count"', OptionTypeError, "LLVM registered 'unroll-count' as uint"),
        ('!"llvm -cl-opt=-print-after-all"', UntrustedOptionError, "its class is output"),
        ('!"llvm -cl-opt=-inline-threshold:int=-1"', UntrustedOptionError, "is not accepted from a module"),
    ],
)
def test_a_bad_target_in_a_module_is_one_error(
    instance: LLVMInstance, flag: str, error: type[Exception], said: str
) -> None:
    module = flagged(instance, flag)
    module.name = "kernel.ll"
    with pytest.raises(error, match=re.escape(said)) as caught:
        LLVMTarget.get_target_metadata(module)
    assert "the target of module 'kernel.ll': " in str(caught.value)


def test_a_module_may_set_what_its_reader_trusts(instance: LLVMInstance) -> None:
    module = flagged(instance, '!"llvm -cl-opt=-print-after-all"')
    text = LLVMTarget.get_target_metadata(module, trust=("output",))
    with LLVMTarget(instance, text):
        assert lookup("print-after-all") is True


def test_what_is_no_module_is_a_type_error(instance: LLVMInstance) -> None:
    target = LLVMTarget(instance, "llvm")
    of_a_module = (
        LLVMTarget.get_target_metadata,
        target.set_target_metadata,
        target.optimize,
        target.emit_object,
        target.emit_assembly,
        target.load,
    )
    for work in of_a_module:
        with pytest.raises(TypeError, match="expected a module"):
            work("module")  # type: ignore[operator]


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


@pytest.mark.parametrize(("config", "text"), WRITTEN)
def test_the_text_of_a_target_is_tvms(instance: LLVMInstance, config: dict[str, Any], text: str) -> None:
    info = LLVMTargetInfo(instance, {"kind": "llvm", "mtriple": "x86_64-linux-gnu", **config})
    assert str(info) == f'{{"kind":"llvm","mtriple":"x86_64-linux-gnu",{text}}}'
    again = LLVMTarget(instance, str(info))
    assert str(again) == str(info)
    assert again.matches_global_state() is (not info.command_line_options)
    with again:
        assert info.matches_global_state()


def test_what_tvm_prints_of_a_target_is_read() -> None:
    text = (
        '{"kind":"llvm","tag":"","keys":["arm_cpu","cpu"],"feature.has_sme":false,"feature.is_aarch64":true,'
        '"mtriple":"aarch64-linux-gnu","mattr":["+neon"],"libs":["cblas"],"device":"arm_cpu",'
        '"cl-opt":["-unroll-count:uint=4"]}'
    )
    assert from_target(text).overrides == {"unroll-count": 4}
    assert Target(text).keys == ("arm_cpu", "cpu")
    assert Target(Target(text).export()) == Target(text)
