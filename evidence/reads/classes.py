"""Classes of LLVM by which code reaches a context: what could hold the values of options."""

from __future__ import annotations

from typing import Final

# A pointer or reference to one of these is a context. Class as a pattern -> the context.
CONTEXTS: Final = {
    r"llvm::Function": "Function",
    r"llvm::Module": "Module",
    r"llvm::MachineFunction": "MachineFunction",
    r"llvm::LLVMContext": "LLVMContext",
    r"llvm::MCContext": "MCContext",
    r"llvm::(?:\w*TargetMachine|CodeGenTargetMachineImpl)": "TargetMachine",
}

_VALUE = (
    r"llvm::(?:Value|User|Argument|BasicBlock|Instruction|Constant|Constant(?:Int|FP|Expr|Data|DataArray|DataVector"
    r"|DataSequential|Array|Struct|Vector|Aggregate|AggregateZero|PointerNull|TokenNone|TargetNone)"
    r"|UndefValue|PoisonValue|GlobalValue|GlobalObject|GlobalVariable|GlobalAlias|GlobalIFunc|InlineAsm"
    r"|CallBase|PHINode|(?:Binary|Unary)Operator|(?!MC)\w+Inst|\w+Intrinsic|\w*Operator)"
)
_TYPE = (
    r"llvm::(?:(?:Integer|Function|Pointer|Struct|Array|Vector|FixedVector|ScalableVector|TargetExt)?Type)"
)
_METADATA = (
    r"llvm::(?:MDNode|MDTuple|DI(?:Node|\w*Scope|\w*Type|File|CompileUnit|Subprogram|LexicalBlock\w*|Namespace|Module"
    r"|Template\w+|\w*Variable|Label|Expression|Location|GlobalVariableExpression|ImportedEntity|\w*Subrange))"
)

# Class -> (context, the public accessor that leads there from every object of the class, never to null).
LEADING: Final = {
    _VALUE: ("LLVMContext", "getContext()"),
    _TYPE: ("LLVMContext", "getContext()"),
    _METADATA: ("LLVMContext", "getContext()"),
    r"llvm::IRBuilder(?:Base)?(?:<.*>)?": ("LLVMContext", "getContext()"),
    r"llvm::Loop": ("Function", "getHeader()->getParent()"),
    r"llvm::ScalarEvolution": ("LLVMContext", "getContext()"),
    r"llvm::LazyCallGraph::SCC": ("Function", "begin()->getFunction()"),
    r"llvm::LazyCallGraph::Node": ("Function", "getFunction()"),
    r"llvm::CallGraph": ("Module", "getModule()"),
    r"llvm::MachineBasicBlock": ("MachineFunction", "getParent()"),
    r"llvm::MachineLoop": ("MachineFunction", "getHeader()->getParent()"),
    r"llvm::MachineIRBuilder": ("MachineFunction", "getMF()"),
    r"(?:llvm|\(anonymous namespace\))::ScheduleDAG(?:SDNodes|Instrs|MI|MILive|RRList)?": (
        "MachineFunction",
        "MF",
    ),
    r"llvm::SelectionDAG": ("MachineFunction", "getMachineFunction()"),
    r"llvm::SelectionDAGISel|(?:llvm|\(anonymous namespace\))::\w+DAGToDAGISel": ("MachineFunction", "MF"),
    r"llvm::SelectionDAGBuilder": ("MachineFunction", "DAG.getMachineFunction()"),
    r"llvm::FunctionLoweringInfo": ("MachineFunction", "MF"),
    r"llvm::TargetLoweringBase|llvm::\w*TargetLowering": ("TargetMachine", "getTargetMachine()"),
    r"llvm::TargetPassConfig|\(anonymous namespace\)::\w+PassConfig": (
        "TargetMachine",
        "getTM<TargetMachine>()",
    ),
    r"llvm::AsmPrinter": ("TargetMachine", "TM"),
    r"llvm::MachineModuleInfo": ("Module", "getModule()"),
    r"(?:llvm|\(anonymous namespace\))::MC\w*Streamer": ("MCContext", "getContext()"),
    r"llvm::MCAssembler": ("MCContext", "getContext()"),
    r"llvm::MCAsmParser": ("MCContext", "getContext()"),
}
