"""Which options a module may set: by default, and where the program says otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from llvmlite import binding

import optctx
from optctx import (
    OptctxError,
    OptionContext,
    UnknownOptionError,
    UntrustedOptionError,
    UntrustedOptionWarning,
)
from tests.support.links_modules import noted
from tests.support.runs import UNROLL, counted, stores_of_each

pytestmark = [pytest.mark.usefixtures("attached")]


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """What a test says of attributes ends with it."""
    yield
    optctx.attach(attributes="ignore", trust=("tuning",))


def unrolled_with(text: str, llvm_context: Any) -> int:
    """How often the loop of a function with that attribute is unrolled."""
    with binding.parse_assembly(counted(("f", text)), llvm_context) as module:
        optctx.run_passes(module, UNROLL)
        return stores_of_each(module)["f"]


def stamped(*nodes: str) -> binding.ModuleRef:
    """A module with a stamp of these options."""
    options = "".join(f", !{{{node}}}" for node in nodes)
    return noted(f'!0 = !{{!"1", !"m"{options}}}', "m")


# What `python -m tests.long.fuzz --target sets` found: LLVM ended the process, printed, or took minutes, most
# often beside another option, which the judgement names. Each of these lost its class, or that value.
TOGETHER = """
-unroll-peel-count=1 -tsan-compound-read-before-write -memprof-mapping-granularity=63
-enable-subreg-liveness=false -dag-maps-reduction-size=0 -sanitizer-coverage-trace-loads
-dwarf-sections-as-references=Enable -aggregate-extracted-args -enable-machine-outliner=always
-misched-fusion=false -join-liveintervals=false -mfs-split-ehcode -unroll-force-peel-count=7
-force-target-max-vector-interleave=64 -sampled-instrumentation -slp-min-tree-size=1
-window-ii-coeff=65535 -align-all-functions=1 -align-all-blocks=6 -align-all-nofallthru-blocks=6
-regalloc-eviction-max-interference-cutoff=1 -pipeliner-register-pressure-margin=104
-aarch64-stack-hazard-in-non-streaming -schedmodel=false -insert-has0 -hwasan-experimental-use-page-aliases
-vectorizer-min-trip-count=1955 -misched=ilpmax -riscv-v-register-bit-width-lmul=32768
-misched-resource-cutoff=0 -early-live-intervals -pipeliner-experimental-cg -precompute-phys-liveness
-gc-empty-basic-blocks -pgo-instrument-loop-entries -dfsan-track-origins=1 -scalable-vectorization=on
-hexagon-initial-cfg-cleanup=false -scalar-evolution-huge-expr-threshold=31 -aarch64-simd-scalar-force-all
-amdgpu-lower-module-lds-strategy=kernel -amdgpu-promote-alloca-to-vector-limit=514
-amdgpu-promote-alloca-to-vector-max-regs=32 -amdgpu-promote-alloca-to-vector-vgpr-ratio=2
-apply-ext-tsp-for-size -arm-enable-merge-loopenddec=false -combiner-disabled -pipeliner-force-ii=1
-disable-strictnode-mutation -enable-global-merge-func -enable-vplan-native-path -fast-isel
-loop-idiom-vectorize-bytecmp-vf=0 -mergefunc-preserve-debug-info -chr-bias-threshold=1000
-lower-allow-check-random-rate=1000 -pre-RA-sched=list-burr -prefer-inloop-reductions
-enable-split-machine-functions -ppc-stack-ptr-caller-preserved=false -profile-summary-cutoff-hot=395462
-profile-summary-cutoff-cold=990000 -force-vector-interleave=64
"""


@pytest.mark.llvm22
def test_options_that_end_the_process_together_are_not_all_trusted(llvm_context: Any) -> None:
    optctx.attach(attributes="error")
    wrong = []
    for text in TOGETHER.split():
        name, equals, value = text.lstrip("-").partition("=")
        with pytest.raises(UntrustedOptionError) as caught:
            unrolled_with(text, llvm_context)
        with pytest.raises(UntrustedOptionError) as stamp:
            OptionContext.from_module(stamped(f'!"{name}", ' + (f'!"{value}"' if equals else "null")))
        if not caught.value.name == stamp.value.name == name:
            wrong.append((text, caught.value.name, stamp.value.name))
    assert wrong == []


def test_attributes_count_only_after_the_program_asked_for_them(llvm_context: Any) -> None:
    def check(stores: int) -> None:
        assert unrolled_with("-unroll-count=3", llvm_context) == stores

    optctx.attach()
    check(1)
    assert unrolled_with("-no such option", llvm_context) == 1
    optctx.attach(attributes="error")
    check(3)
    optctx.attach()  # of somebody else: leaves it as it is
    check(3)
    optctx.attach(attributes="ignore")
    with pytest.raises(UnknownOptionError):
        optctx.attach(attributes="error", trust=("tunning",))
    check(1)


REFUSED = {
    "-x86-lvi-load-opt-plugin=/tmp/evil.so": ("x86-lvi-load-opt-plugin", "code"),
    "-unroll-count=2 -cgscc-inline-replay=/etc/passwd": ("cgscc-inline-replay", "input"),
    "-unroll-count=4000000000": ("unroll-count", "process"),
    f"-unroll-count={'0' * 100}4": ("unroll-count", "process"),
}


@pytest.mark.llvm22
def test_what_is_not_trusted_is_refused_by_name_and_class(llvm_context: Any) -> None:
    for text, (name, trust) in REFUSED.items():
        optctx.attach(attributes="error")
        with pytest.raises(UntrustedOptionError, match=f"nothing has been run.*{name}") as caught:
            unrolled_with(text, llvm_context)
        assert (caught.value.name, caught.value.trust) == (name, trust)
        optctx.attach(attributes="warn")
        with pytest.warns(UntrustedOptionWarning, match=f"compiled without.*{name}"):
            assert unrolled_with(text, llvm_context) == 1, text


def test_with_warnings_only_the_function_itself_compiles_without(llvm_context: Any) -> None:
    optctx.attach(attributes="warn")
    text = counted(("good", "-unroll-count=3"), ("bad", "-unroll-count=x"), ("evil", "-debug"), ("plain", ""))
    with OptionContext({"unroll-count": 2}), binding.parse_assembly(text, llvm_context) as module:
        with pytest.warns(UntrustedOptionWarning) as caught:
            optctx.run_passes(module, UNROLL)
        assert stores_of_each(module) == {"good": 3, "bad": 2, "evil": 2, "plain": 2}
    assert len(caught) == 2
    assert all(warning.filename == __file__ for warning in caught)


@pytest.mark.llvm22
def test_a_program_can_trust_classes_and_single_options(llvm_context: Any) -> None:
    optctx.attach(attributes="error", trust=("tuning", "aa-trace"))
    assert unrolled_with("-unroll-count=3 -aa-trace", llvm_context) == 3
    optctx.attach(trust=("output",))
    assert unrolled_with("-aa-trace", llvm_context) == 1
    with pytest.raises(UntrustedOptionError, match="accepted are output"):
        unrolled_with("-unroll-count=3", llvm_context)
    optctx.attach(trust=())
    with pytest.raises(UntrustedOptionError, match="nothing is accepted"):
        unrolled_with("-unroll-count=3", llvm_context)
    optctx.attach(trust=["unroll-count"])  # with any value
    assert unrolled_with(f"-unroll-count={'0' * 100}3", llvm_context) == 3


def test_arguments_of_an_untrusted_source_set_only_what_is_trusted() -> None:
    for arguments in ("-unroll-threshold=9 -print-after-all", "-inline-threshold=-1"):
        with pytest.raises(UntrustedOptionError):
            OptionContext.from_args(arguments, trust=("tuning",))
    assert OptionContext.from_args("-unroll-count=4", trust=("tuning",)) == OptionContext(unroll_count=4)
    assert OptionContext.from_args("-print-after-all", trust=("output",))["print-after-all"] is True


def test_an_attribute_of_a_megabyte_is_refused_with_a_short_message(llvm_context: Any) -> None:
    optctx.attach(attributes="error")
    with pytest.raises(UntrustedOptionError, match="bytes long") as caught:
        unrolled_with("-unroll-count=" + "\\5C" * (1 << 18), llvm_context)
    assert len(str(caught.value)) < 1000


def test_a_stamp_of_a_megabyte_is_refused_with_a_short_message() -> None:
    stamp = f'!0 = !{{!"1", !"a.c", !1}}\n!1 = !{{!"unroll-count", !"{"4" * 60_000}"}}'
    modules = {
        "one long text": stamped(f'!"unroll-count", !"{"a" * (1 << 20)}"'),
        "many options": stamped(*(f'!"x{number:060}", !"3"' for number in range(1 << 14))),
        "a text in many": binding.parse_assembly(
            f"!optctx.options = !{{{', '.join(['!0'] * 4000)}}}\n{stamp}"
        ),
    }
    for kind, module in modules.items():
        with pytest.raises(UntrustedOptionError, match="cannot read the stamps") as caught:
            OptionContext.from_module(module)
        assert len(str(caught.value)) < 1000, kind
    with pytest.raises(OptctxError, match="cannot read the stamps"):
        optctx.check_link([module])


def test_functions_with_too_many_different_attributes_are_one_problem(llvm_context: Any) -> None:
    one = 'define void @f{0}() "optctx"="-slp-threshold={0}" {{ ret void }}'
    functions = (one.format(number) for number in range(1200))
    with binding.parse_assembly("\n".join(functions), llvm_context) as module:
        optctx.attach(attributes="error")
        with pytest.raises(UntrustedOptionError, match="more than 1024 different"):
            optctx.run_passes(module, UNROLL)
        optctx.attach(attributes="warn")
        with pytest.warns(UntrustedOptionWarning, match="more than 1024 different") as caught:
            optctx.run_passes(module, UNROLL)
        assert len(caught) == 1
