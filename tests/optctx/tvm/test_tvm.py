"""Objects of the shape of TVM's instances and targets, held against the rules of TVM's own tests."""

from __future__ import annotations

import copy
import ctypes
import json
import pathlib
import pickle
import re
from dataclasses import replace
from typing import Any

import pytest
from llvmlite import binding, ir

from optctx import OptionContext, OptionTypeError, ScopeError, UnreadOptionError, current
from optctx.compiling import FreshProcess, Job
from optctx.errors import TargetError, TargetWarning
from optctx.tvm import LLVMInstance, LLVMScope, LLVMTarget, LLVMTargetInfo
from tests.support.ir_texts import CALLS, COUNTED, SCALE, X86
from tests.support.rows import rows
from tests.support.scopes import UNROLLED_ONCE, unrolled

FOUR = "llvm -cl-opt=-unroll-count:uint=4"
TARGETS: dict[str, dict[str, Any]] = {
    "plain": {},
    "unrolled": {"cl-opt": ["-unroll-count:uint=3", "-unroll-runtime"]},
    "inlined": {"cl-opt": ["-inline-threshold:int=0"], "opt-level": 2},
    "skylake": {"cl-opt": ["-force-vector-width:uint=16"], "mcpu": "skylake", "mattr": ["-avx2"]},
}


@pytest.fixture
def instance() -> LLVMInstance:
    return LLVMInstance()


# LLVMInstance


def test_an_instance_reads_text_bitcode_and_files(instance: LLVMInstance, tmp_path: pathlib.Path) -> None:
    bitcode = instance.parse_ir(COUNTED).as_bitcode()
    (tmp_path / "a.ll").write_text(COUNTED)
    read = (
        instance.parse_ir(COUNTED),
        instance.parse_ir(bitcode),
        instance.load_ir(tmp_path / "a.ll"),
    )
    [text] = {re.sub("(?m)^(;|source_filename).*\n", "", str(each)) for each in read}
    assert "store volatile" in text
    assert LLVMScope is LLVMInstance
    with pytest.raises(OSError, match=r"no\.ll"):
        instance.load_ir(str(tmp_path / "no.ll"))


def test_an_instance_ends_and_its_modules_stay() -> None:
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


# LLVMTarget


def test_a_target_is_a_context(instance: LLVMInstance) -> None:
    """On top of what is in force, as TVM's are; they also nest, while TVM lets one at a time modify LLVM."""
    target = LLVMTarget(instance, FOUR)
    assert target == OptionContext({"unroll-count": 4})
    assert target["unroll-count"] == target.run(unrolled) == 4
    derived = target.derive(unroll_threshold=9)
    assert type(derived) is OptionContext
    assert derived.overrides == {"unroll-count": 4, "unroll-threshold": 9}
    plain = pickle.loads(pickle.dumps(target))
    assert type(plain) is OptionContext
    assert plain == target
    assert copy.copy(target) is copy.deepcopy(target) is target
    assert not target.matches_global_state()
    with target:
        assert target.matches_global_state()
        assert current() is target
        with LLVMTarget(instance, "llvm -cl-opt=-unroll-count:uint=8"), target:
            assert unrolled() == 4
        with LLVMTarget(instance, "llvm"):
            assert unrolled() == 4
        with LLVMTarget(instance, "llvm", base="defaults"):
            assert unrolled() == UNROLLED_ONCE
    info = LLVMTargetInfo(instance, "llvm -cl-opt=-print-after-all")
    assert not info.matches_global_state()
    with LLVMTarget(instance, info):
        assert info.matches_global_state()


def test_a_target_never_changes(instance: LLVMInstance) -> None:
    target = LLVMTarget(instance, FOUR)
    before = str(target)
    with pytest.raises(OptionTypeError, match="a context never changes"):
        target.__init__(LLVMInstance(), "llvm -mcpu=skylake -opt-level=0")  # type: ignore[misc]
    assert (str(target), target.instance, target.cpu) == (before, instance, "generic")
    assert target.opt_level == 3
    assert target["unroll-count"] == 4


def test_a_target_judges_what_is_not_read(instance: LLVMInstance) -> None:
    unread = "llvm -cl-opt=-hexagon-initial-cfg-cleanup=false"
    target = LLVMTarget(instance, unread, unread="error")
    with pytest.raises(UnreadOptionError, match="LLVM did not read 1 of the options that LLVMTarget"), target:
        target.optimize(instance.parse_ir(COUNTED))


@rows("name", TARGETS)
def test_code_is_that_of_a_fresh_process(instance: LLVMInstance, fresh: FreshProcess, name: str) -> None:
    """With the options of the target on its command line."""
    config = TARGETS[name]
    target = LLVMTarget(instance, {"kind": "llvm", "mtriple": X86, **config})
    options = tuple(re.sub(":[a-z]+=", "=", text) for text in config.get("cl-opt", ()))
    level = config.get("opt-level", 3)
    for kernel in (COUNTED, SCALE, CALLS):
        plain = Job(kernel, f"default<O{level}>", triple=X86, cpu=config.get("mcpu", "generic"))
        plain = replace(plain, features=",".join(config.get("mattr", ())), opt_level=level, emit="both")
        expected = fresh.compile(replace(plain, options=options))
        module = instance.parse_ir(kernel)
        target.optimize(module)
        assert str(module) == expected.ir
        code = target.emit_object(module)
        assert str(module) == expected.ir  # a copy was emitted
        if kernel != CALLS:  # position-independent code calls through the table
            assert code == expected.code


# The target machine


def test_everything_that_a_target_says_reaches_the_machine(instance: LLVMInstance) -> None:
    skylake = {"kind": "llvm", "mtriple": X86, "mcpu": "skylake", "mattr": ["-avx2"]}
    info = LLVMTargetInfo(instance, skylake)
    assert (info.target_triple, info.cpu, info.target_feature_string) == (X86, "skylake", "-avx2")
    assert info.get_or_create_target_machine() is info.get_or_create_target_machine()
    for target, register in (({"kind": "llvm", "mtriple": X86}, "xmm"), (info, "ymm")):
        module = instance.parse_ir(SCALE)
        made = LLVMTarget(instance, target)
        made.optimize(module)
        assert register in made.emit_assembly(module)

    unoptimised = LLVMTarget(instance, "llvm -opt-level=-1")
    assert unoptimised.opt_level == 0
    assert LLVMTargetInfo(instance, "llvm -opt-level=9").opt_level == 3
    before = instance.parse_ir(SCALE)
    unoptimised.optimize(before)
    assert "x float>" not in str(before)
    codes = [LLVMTarget(instance, f"llvm -opt-level={level}").emit_object(before) for level in (0, 3)]
    assert codes[0] != codes[1]


def test_an_abi_reaches_the_machine(instance: LLVMInstance) -> None:
    text = "define double @f(double %x) { %y = fadd double %x, %x\n ret double %y }"
    for abi, code in (("lp64", "fmv.d.x"), ("lp64d", "fadd.d\tfa0, fa0, fa0")):
        target = LLVMTarget(instance, f"llvm -mtriple=riscv64-linux -mattr=+d -mabi={abi}")
        assert code in target.emit_assembly(instance.parse_ir(text))
    # A float ABI may repeat what the triple says.
    for triple, abi in (("armv7a-linux-gnueabihf", "hard"), ("armv7a-linux-gnueabi", "soft")):
        info = LLVMTargetInfo(instance, f"llvm -mtriple={triple} -mfloat-abi={abi}")
        assert json.loads(str(info))["mfloat-abi"] == abi


def test_the_processor_of_this_machine_is_to_be_named(instance: LLVMInstance) -> None:
    """LLVM would print that it does not know it, and end the process."""
    with pytest.raises(TargetError, match="LLVM has no processor 'native'; name it"):
        LLVMTargetInfo(instance, "llvm -mcpu=native")
    with pytest.warns(TargetWarning, match="the target uses mcpu 'generic'"):
        info = LLVMTargetInfo(instance, "llvm -mcpu=native", unknown="warn")
    assert info.cpu == "generic"


def test_an_unknown_processor_becomes_the_generic_one_where_that_is_asked_for(instance: LLVMInstance) -> None:
    with pytest.warns(TargetWarning, match="processor 'skylak': .*; the target uses mcpu 'generic'"):
        info = LLVMTargetInfo(instance, "llvm -mcpu=skylak", unknown="warn")
    assert info.cpu == "generic"
    assert LLVMTarget(instance, info).cpu == "generic"


def test_fast_math_flags_are_those_of_llvmlites_builder(instance: LLVMInstance) -> None:
    flags = ("reassoc", "nnan", "ninf", "nsz", "arcp", "contract", "afn")
    every = {"kind": "llvm", **{f"fast-math-{flag}": True for flag in flags}}
    for target, expected in (
        ("llvm -fast-math=0 -fast-math-nnan -fast-math-contract", ("nnan", "contract")),
        ("llvm -fast-math", ("fast",)),
        (every, ("fast",)),
    ):
        found = LLVMTargetInfo(instance, target).fast_math_flags
        assert found == expected
        module, double = ir.Module(), ir.DoubleType()
        function = ir.Function(module, ir.FunctionType(double, [double]), "f")
        builder = ir.IRBuilder(function.append_basic_block())
        builder.ret(builder.fadd(function.args[0], ir.Constant(double, 0.0), flags=found))
        assert f"fadd {' '.join(expected)} double" in str(instance.parse_ir(str(module)))


def test_the_widths_of_vectors_are_tvms(instance: LLVMInstance) -> None:
    widths = {"-vector-width=1024": 1024, "-mtriple=x86_64-linux": 512, "-mtriple=i686-linux": 256}
    for keys, width in {**widths, "-mtriple=aarch64-linux": 128}.items():
        assert LLVMTargetInfo(instance, f"llvm {keys}").vector_width == width
    with pytest.raises(TargetError, match="no vector width is known for riscv64-linux"):
        _ = LLVMTargetInfo(instance, "llvm -mtriple=riscv64-linux").vector_width


@rows("engine", ["orcjit", "mcjit"])
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
