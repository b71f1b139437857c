"""Which functions a harness calls: results narrower than a register, extensions, calling conventions."""

from __future__ import annotations

import pytest
from llvmlite import binding

from optctx.compiling import FreshProcess, Job
from optctx.errors import OptctxError
from optctx.lab.timing import check
from optctx.lab.timing.harness import KINDS, Harness, Kind, Value

INTEGERS = [name for name, kind in KINDS.items() if not kind.is_float]
# LLVM's parser knows these for every target; numbers may have no name.
OTHERS = [
    "fastcc", "coldcc", "ghccc", "anyregcc", "preserve_mostcc", "preserve_allcc",
    "preserve_nonecc", "swiftcc", "swifttailcc", "cxx_fast_tlscc", "tailcc", "cfguard_checkcc",
    "x86_stdcallcc",
    "x86_fastcallcc",
    "x86_thiscallcc", "x86_vectorcallcc", "x86_regcallcc", "win64cc", "x86_intrcc", "intel_ocl_bicc",
    "hhvmcc",
    "hhvm_ccc", "graalcc", "m68k_rtdcc", "riscv_vector_cc", "arm_apcscc", "arm_aapcscc", "arm_aapcs_vfpcc",
    "aarch64_vector_pcs", "aarch64_sve_vector_pcs", "msp430_intrcc", "avr_intrcc", "avr_signalcc",
    "ptx_kernel", "ptx_device", "spir_func", "spir_kernel", "amdgpu_kernel", "amdgpu_gfx", "cc200",
]  # fmt: skip


def narrow(kind: Kind, above: str) -> str:
    """Return 1 in the type, with other bits above it in the register."""
    number = KINDS[kind]
    last = "%t" if number.ir != "i64" else "%r"
    cut = "" if number.ir == "i64" else f"  %t = trunc i64 %r to {number.ir}\n"
    return (
        f"define {number.ir} @f() {{\n"
        f'  %r = call i64 asm sideeffect "movabsq $1, $0", "=r,i"(i64 {above})\n'
        f"{cut}  ret {number.ir} {last}\n}}"
    )


@pytest.mark.parametrize("kind", INTEGERS)
def test_the_bits_of_the_type_are_compared(kind: Kind, fresh: FreshProcess) -> None:
    bits = 1 if kind == "bool" else KINDS[kind].size * 8
    words = [1 | garbage << bits & (1 << 64) - 1 for garbage in (0, 0x5A5A5A5A5A5A5A5A)]
    codes = [fresh.compile(Job(narrow(kind, str(word)), "verify")).code for word in words]
    assert (codes[0] == codes[1]) is (bits == 64)
    harness = Harness("f", returns=kind)
    assert check(harness, codes[0], {"other": codes[1]})["other"].state == "ok"
    wrong = fresh.compile(Job(narrow(kind, "0"), "verify")).code
    assert check(harness, codes[0], {"other": wrong})["other"].state == "wrong result"


@pytest.mark.parametrize("kind", [name for name in INTEGERS if KINDS[name].extension])
def test_a_number_is_extended_as_its_parameter_says(kind: Kind) -> None:
    number = KINDS[kind]
    harness = Harness("f", (Value(1, kind),))
    for extension in ("", "signext", "zeroext"):
        ir = f"define void @f({number.ir} {extension} %x) {{ ret void }}"
        if extension in ("", number.extension):
            harness.check(ir)
        else:
            with pytest.raises(OptctxError, match=f"is {extension} in the module, and {kind} in"):
                harness.check(ir)


@pytest.mark.parametrize("returns", ["void", "noundef signext i8"])
def test_other_calling_conventions_than_cs_are_refused_by_name(returns: str) -> None:
    harness = Harness("f", returns=None if returns == "void" else "i8")
    value = "void" if returns == "void" else "i8 0"
    for convention in ("", "ccc", "x86_64_sysvcc", "cc 0", "dso_local", "hidden"):
        harness.check(f"define {convention} {returns} @f() {{ ret {value} }}")
    for convention in OTHERS:
        ir = f"define {convention} {returns} @f() {{ ret {value} }}"
        try:
            with binding.create_context() as context:
                binding.parse_assembly(ir, context)
        except RuntimeError:  # of another release
            continue
        broken = "" if returns == "void" else "|requires void return type"
        with pytest.raises(OptctxError, match=f"is {convention}; a harness calls C functions{broken}"):
            harness.check(ir)


@pytest.mark.parametrize("kind", ["i2", "i24", "i63", "i128", "half", "bfloat", "<2 x i32>", "{ i32, i32 }"])
def test_what_a_harness_cannot_describe_is_refused(kind: str) -> None:
    with pytest.raises(OptctxError, match="which a harness cannot describe"):
        Harness("f").check(f"define {kind} @f() {{ ret {kind} zeroinitializer }}")
