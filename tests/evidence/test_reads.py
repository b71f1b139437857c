"""Which context a function of LLVM reaches, by the types of its parameters."""

from __future__ import annotations

from evidence.reads.contexts import contexts_of
from tests.support.rows import rows


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
    assert contexts_of(function) == contexts
