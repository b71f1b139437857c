"""From where LLVM reads options: call stacks in real compilations, against LLVM's sources and its code."""

from __future__ import annotations

import itertools
from functools import partial

import capstone
import pytest

from evidence.reads import stacks
from evidence.reads.contexts import reaches_in
from evidence.reads.places import ReadPlace, Reads, first_reads
from evidence.reads.signature import signature_of
from evidence.reads.stacks import FirstRead, RecordingStacks, stacks_in
from optctx.arch.x86_64.sites import Tactic
from optctx.compiling import Job, compile_job
from optctx.engine.attach import attach
from tests.support.ir_texts import CALLS, COUNTED, SCALE, UNROLL, X86
from tests.support.rows import rows

pytestmark = [pytest.mark.usefixtures("attached")]

UNROLLED = Job(COUNTED, UNROLL, triple=X86, emit="ir")
O3 = Job(SCALE + CALLS, "default<O3>", triple=X86, emit="object")


def compiled(job: Job) -> None:
    assert compile_job(job).error is None


def whole_stacks(job: Job) -> list[FirstRead]:
    recording = RecordingStacks()
    with recording:
        compiled(job)
    return stacks_in(recording)


def places(*jobs: Job) -> dict[str, list[ReadPlace]]:
    reads = Reads()
    for job in jobs:
        reads.add(first_reads(partial(compiled, job)))
    found: dict[str, list[ReadPlace]] = {}
    for place in reads.places:
        found.setdefault(place.option, []).append(place)
    return found


def names(stack: tuple[str, ...]) -> list[str]:
    """The functions of a stack without parameters and clones."""
    return [signature_of(function).qualified for function in stack]


def test_the_count_of_an_unrolling_is_read_below_the_pass() -> None:
    """LoopUnrollPass::run -> tryToUnrollLoop -> computeUnrollCount (LoopUnrollPass.cpp)."""
    [place] = places(UNROLLED)["unroll-count"]
    called = names(place.example)
    assert called[0] == "llvm::computeUnrollCount"
    assert called[1] == "tryToUnrollLoop"
    assert called[2] == "llvm::LoopUnrollPass::run"
    assert called[-1] == "LLVMPY_RunNewModulePassManager"
    # Loop *L is a parameter, and leads to its function; `Function &F` is one of the pass, two frames out.
    assert (place.nearest, place.frames) == ("Function", 0)
    assert place.via == "Loop, getHeader()->getParent() (parameter)"
    assert reaches_in(place.example[2])[0].via == "Function (parameter)"
    assert place.contexts.keys() >= {"Function", "Module"}
    assert (place.making, place.without, place.seen) == ("", 0, 1)


def test_options_that_are_read_without_a_context() -> None:
    found = places(O3)
    # PipelineTuningOptions::PipelineTuningOptions() (PassBuilderPipelines.cpp), made by llvmlite.
    [place] = found["forget-scev-loop-unroll"]
    assert (place.nearest, place.frames, place.without) == ("none", -1, 1)
    assert place.making == "llvm::PipelineTuningOptions"
    assert names(place.example) == [
        "llvm::PipelineTuningOptions::PipelineTuningOptions",
        "LLVMPY_CreatePipelineTuningOptions",
    ]
    # TargetOptions are set up by the constructor of the machine, which is not complete yet.
    [place] = found["trap-unreachable"]
    assert place.making == "llvm::CodeGenTargetMachineImpl"
    assert (place.nearest, place.contexts) == ("none", {})
    # A pass over machine code has its function.
    tails = [place for place in found["tail-merge-threshold"] if "TailMergeBlocks" in place.function]
    assert ["MachineFunction" in place.contexts for place in tails] == [True]
    # X86MCAsmInfo is made by initAsmInfo(), a method of the machine; no LLVMContext is in sight.
    [place] = found["x86-asm-syntax"]
    assert place.making == "llvm::X86ELFMCAsmInfo"
    assert place.contexts.keys() == {"TargetMachine"}
    assert place.frames == names(place.example).index("llvm::CodeGenTargetMachineImpl::initAsmInfo")


LONGEST = 8  # bytes of a call


def test_every_stack_is_whole_begins_at_a_reader_and_goes_on_at_calls() -> None:
    """An address of a caller is the last byte of a call."""
    plan, image = attach().plan, attach().image
    readers, found = list(plan.readers), whole_stacks(O3)
    assert len(found) > 400
    saved = {
        reader
        for site, reader in zip(plan.references.sites, plan.readers.by_site, strict=True)
        if site.tactic == Tactic.SAVED and site.reads
    }
    assert sum(read.reader in saved for read in found) > 50  # whose trampolines save a register
    functions = [image.function_at(read.addresses[0]) for read in found]
    assert all(read.whole for read in found)
    assert [each and each.name for each in functions] == [
        image.name_of(readers[read.reader].function) for read in found
    ]
    redirected = {site for _, _, site in stacks.made_code(attach()).calls}
    of_llvm = [
        [address for address in read.addresses if image.text_begin <= address < image.text_end]
        for read in found
    ]
    pairs = {pair for stack in of_llvm for pair in itertools.pairwise(stack)}
    for _, caller in pairs:
        if caller in redirected:  # there it is the first byte
            assert any(is_call(image.initial_bytes(caller, length)) for length in (5, 6))
            continue
        end = caller + 1
        before = image.initial_bytes(end - LONGEST, LONGEST)
        assert any(is_call(before[-length:]) for length in range(2, LONGEST + 1)), before.hex()


def is_call(code: bytes) -> bool:
    """Whether the bytes are one call and no more."""
    decoded = next(DECODER.disasm_lite(code, 0), None)
    return decoded is not None and decoded[1] == len(code) and decoded[2].endswith("call")


DECODER = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)


@rows(
    ("function", "contexts"),
    [
        ("llvm::LoopUnrollPass::run(llvm::Function&, llvm::AnalysisManager<llvm::Function>&)", {"Function"}),
        ("llvm::MachineFunction::init()", {"MachineFunction"}),
        ("f(std::unique_ptr<llvm::Module, std::default_delete<llvm::Module> >)", {"Module"}),
        ("f(llvm::AnalysisManager<llvm::Function>&)", set()),
        (
            "llvm::X86TargetMachine::getSubtargetImpl(llvm::Function const&) const",
            {"Function", "TargetMachine"},
        ),
        ("llvm::X86TargetMachine::X86TargetMachine(llvm::Target const&)", set()),
        ("f(llvm::CallInst*)", {"LLVMContext"}),
        ("f(llvm::MachineInstr&)", set()),  # it may be in no function
        ("f(llvm::MCInst const*)", set()),  # no llvm::Value, unlike CallInst
        ("llvm::MCStreamer::emitBytes(llvm::StringRef)", {"MCContext"}),
        ("g(llvm::Module&)::{lambda(int)#1}::operator()(int) const", set()),
    ],
)
def test_what_a_function_reaches(function: str, contexts: set[str]) -> None:
    assert {reach.context for reach in reaches_in(function)} == contexts
