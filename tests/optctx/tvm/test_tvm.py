"""Objects of the shape of TVM's instances and targets, held against the rules of TVM's own tests."""

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
from llvmlite import binding, ir

import optctx.tvm
from optctx import OptionContext, ScopeError, UnreadOptionError, current, lookup, run_passes, unbind
from optctx.compiling import FreshProcess
from optctx.errors import TargetError, TargetWarning
from optctx.tvm import LLVMInstance, LLVMTarget, LLVMTargetInfo
from tests.optctx.tvm.tvm_targets import EIGHT, FOUR, KERNELS, TARGETS, reference
from tests.support.ir_texts import CALLS, COUNTED, SCALE, X86
from tests.support.processes import SECONDS
from tests.support.rows import rows
from tests.support.scopes import in_threads, unrolled


@pytest.fixture
def instance() -> LLVMInstance:
    return LLVMInstance()


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
    with pytest.raises(OSError, match=r"no\.ll"):
        LLVMInstance().load_ir(tmp_path / "no.ll")


# LLVMTarget


def test_options_are_in_force_inside_and_restored_after_and_targets_nest(instance: LLVMInstance) -> None:
    info = LLVMTargetInfo(instance, "llvm -cl-opt=-print-after-all")  # TVM's LLVMCommandLineSaveRestore
    assert not info.matches_global_state()
    with LLVMTarget(instance, info) as target:
        assert info.matches_global_state()
        assert target.matches_global_state()
        assert current() is target
    assert not info.matches_global_state()
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


def compiled(instance: LLVMInstance, kernel: str, config: dict[str, Any]) -> tuple[str | None, bytes]:
    """The same through a target."""
    target = LLVMTarget(instance, {"kind": "llvm", "mtriple": X86, **config})
    module = instance.parse_ir(KERNELS[kernel])
    target.optimize(module)
    text = str(module)
    code = target.emit_object(module)
    assert str(module) == text  # a copy was emitted
    return text, code


@rows("name", TARGETS)
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
    codes = [LLVMTarget(instance, f"llvm -opt-level={level}").emit_object(before) for level in (0, 3)]
    assert codes[0] != codes[1]
    assert "<4 x float>" in str(module) or "<8 x float>" in str(module)


def test_an_abi_reaches_the_machine(instance: LLVMInstance) -> None:
    text = "define double @f(double %x) { %y = fadd double %x, %x\n ret double %y }"
    for abi, code in (("lp64", "fmv.d.x"), ("lp64d", "fadd.d\tfa0, fa0, fa0")):
        target = LLVMTarget(instance, f"llvm -mtriple=riscv64-linux -mattr=+d -mabi={abi}")
        assert code in target.emit_assembly(instance.parse_ir(text))
    # A float ABI may repeat what the triple says.
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
