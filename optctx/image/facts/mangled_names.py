"""Functions, variables and types of LLVM, and functions of C, by their symbols (Itanium C++ ABI).

What optctx calls, reads or redirects; how it is called through ctypes; and what the types of options are
called in the names of their vtables.
"""

from __future__ import annotations

import ctypes
from typing import Any, Final

from optctx._native import Abi, Kind
from optctx.image.facts.fact import Fact, exported, named

_REGISTRY = "_ZN4llvm20RegisterRegAllocBaseI{}E8RegistryE"
# Some compilers put an L before the name of a variable without linkage, others do not.
_FLAG = "_ZN12_GLOBAL__N_1{}{}InitializeDefault{}RegisterAllocatorFlagE"
_PROFILE = "_ZN4llvm10sampleprof15FunctionSamples{}E"

# Name of the variable -> options that it serves: they cannot be scoped unless the variable is.
# MachinePassRegistry is {list of passes, default, listener}: the default is copied from the option at the
# first compilation, under a once_flag.
DEFAULTS: Final = {
    "_ZN4llvm17RegisterScheduler8RegistryE": ("pre-RA-sched",),
    _REGISTRY.format("NS_16RegisterRegAllocE"): ("regalloc",),
    _REGISTRY.format("N12_GLOBAL__N_120SGPRRegisterRegAllocE"): ("sgpr-regalloc",),
    _REGISTRY.format("N12_GLOBAL__N_120VGPRRegisterRegAllocE"): ("vgpr-regalloc",),
    _REGISTRY.format("N12_GLOBAL__N_119WWMRegisterRegAllocE"): ("wwm-regalloc",),
    _REGISTRY.format("N12_GLOBAL__N_119RVVRegisterRegAllocE"): ("riscv-rvv-regalloc",),
}
ALLOCATOR_FLAG: Final = "_ZL38InitializeDefaultRegisterAllocatorFlag"
_TRACK_ORIGINS = "N12_GLOBAL__N_117DataFlowSanitizer18shouldTrackOriginsEvE18ShouldTrackOrigins"
# Names of the variable, of which a library has one, and the options that it serves.
ONCE: Final = (
    ((ALLOCATOR_FLAG,), ("regalloc",)),
    *(
        (tuple(_FLAG.format(way, size, kind) for way in ("L", "")), (f"{option}-regalloc",))
        for size, kind, option in (
            (42, "SGPR", "sgpr"),
            (42, "VGPR", "vgpr"),
            (41, "WWM", "wwm"),
            (41, "RVV", "riscv-rvv"),
        )
    ),
    # A static variable of a function, which copies the option when it is first called; and its guard.
    ((f"_ZZ{_TRACK_ORIGINS}",), ("dfsan-track-origins",)),
    ((f"_ZGVZ{_TRACK_ORIGINS}",), ("dfsan-track-origins",)),
)
# Plain variables. What the reader of a sample profile says of it, for the passes that use the profile:
PLAIN: Final = (
    _PROFILE.format("11ProfileIsCS"),
    _PROFILE.format("11ProfileIsFS"),
    _PROFILE.format("13HasUniqSuffix"),
    _PROFILE.format("19ProfileIsPreInlined"),
    _PROFILE.format("19ProfileIsProbeBased"),
    _PROFILE.format("6UseMD5"),
    # Taken from the first subtarget of the process; what it is decides about waits in AMDGPU code.
    "_ZZN4llvm6AMDGPU6DepCtr24getDefaultDepCtrEncodingERKNS_15MCSubtargetInfoEE7Default",
    # Up to LLVM 21: numbers the calls in PTX from the start of the process.
    "_ZL20GlobalUniqueCallSite",
)


# The registry: the SubCommand that every option belongs to which names no other one, and its options.
TOP_LEVEL: Final = named("llvm::cl::SubCommand::getTopLevel", "_ZN4llvm2cl10SubCommand11getTopLevelEv")
REGISTERED_OPTIONS: Final = named(
    "llvm::cl::getRegisteredOptions", "_ZN4llvm2cl20getRegisteredOptionsERNS0_10SubCommandE"
)
ADD_OCCURRENCE: Final = named(
    "llvm::cl::Option::addOccurrence", "_ZN4llvm2cl6Option13addOccurrenceEjNS_9StringRefES2_b"
)
OPT_OF_UNSIGNED: Final = named("the vtable of cl::opt<unsigned>", "_ZTVN4llvm2cl3optIjLb0ENS0_6parserIjEEEE")
OPTION_VALUE_OF_UNSIGNED: Final = named(
    "the vtable of cl::OptionValue<unsigned>", "_ZTVN4llvm2cl11OptionValueIjEE"
)

RESET_OPTIONS: Final = named(
    "llvm::cl::ResetAllOptionOccurrences", "_ZN4llvm2cl25ResetAllOptionOccurrencesEv"
)
RESET_OPTION: Final = named("llvm::cl::Option::reset", "_ZN4llvm2cl6Option5resetEv")
RESET_PARSER: Final = named("llvm::cl::ResetCommandLineParser", "_ZN4llvm2cl22ResetCommandLineParserEv")
# llvm::cl::ParseCommandLineOptions: its parameters in their order. LLVM 22 added the files.
PARSE_OPTIONS: Final = Fact(
    "llvm::cl::ParseCommandLineOptions",
    (
        (
            "_ZN4llvm2cl23ParseCommandLineOptionsEiPKPKcNS_9StringRefEPNS_11raw_ostreamEPNS_3vfs10FileSystemE"
            "S2_b",
            ("argc", "argv", "overview", "overview size", "errors", "files", "variable", "long as --"),
        ),
        (
            "_ZN4llvm2cl23ParseCommandLineOptionsEiPKPKcNS_9StringRefEPNS_11raw_ostreamES2_b",
            ("argc", "argv", "overview", "overview size", "errors", "variable", "long as --"),
        ),
    ),
)
# Parameter of llvm::cl::ParseCommandLineOptions -> its type and its argument. `argc` and `argv` vary.
PARSE_PARAMETERS: Final[dict[str, tuple[Any, Any]]] = {
    "argc": (ctypes.c_int, None),
    "argv": (ctypes.POINTER(ctypes.c_char_p), None),
    "overview": (ctypes.c_char_p, b""),
    "overview size": (ctypes.c_size_t, 0),
    "errors": (ctypes.c_void_p, None),  # none: print errors to standard error and exit
    "files": (ctypes.c_void_p, None),  # none: the real file system
    "variable": (ctypes.c_char_p, None),  # none: no arguments from the environment
    "long as --": (ctypes.c_bool, False),
}

# What LLVM reports through.
ERRS: Final = named("llvm::errs", "_ZN4llvm4errsEv")
ERRS_STREAM: Final = named("the stream of llvm::errs", "_ZZN4llvm4errsEvE1S")
# Beside it, where compilers put errs() and outs() into their callers: no arrays.
OTHER_STREAMS: Final = ("_ZZN4llvm4outsEvE1S", "_ZZN4llvm5nullsEvE1S")
ERROR_HANDLER: Final = named("the handler of fatal errors", "_ZL12ErrorHandler")
ERROR_HANDLER_DATA: Final = named("the data of the handler of fatal errors", "_ZL20ErrorHandlerUserData")
STREAM_TABLE: Final = named("the vtable of llvm::raw_fd_ostream", "_ZTVN4llvm14raw_fd_ostreamE")
WRITE_TO_STREAM: Final = named(
    "llvm::raw_fd_ostream::write_impl", "_ZN4llvm14raw_fd_ostream10write_implEPKcm"
)

# Debug output. A type in the list of types is a string, since LLVM 22 with an optional level.
DEBUG_FLAG: Final = named("llvm::DebugFlag", "_ZN4llvm9DebugFlagE")
CURRENT_DEBUG_TYPES: Final = named("llvm::CurrentDebugType", "_ZN4llvmL16CurrentDebugTypeE")
IS_DEBUG_TYPE: Final = Fact(
    "llvm::isCurrentDebugType",
    (("_ZN4llvm18isCurrentDebugTypeEPKci", True), ("_ZN4llvm18isCurrentDebugTypeEPKc", False)),
)
# What deletes the list. Its name proves what a type is: whether it has a level, its bytes, its string.
_LIST_DELETER = "_ZN4llvm14object_deleterISt6vectorI{}EEE4callEPv"
_LONG_STRING = "NSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
LIST_DELETERS: Final = {
    _LIST_DELETER.format("St4pairISsSt8optionalIiEESaIS5_"): (True, 16, Abi.copy_on_write),
    _LIST_DELETER.format("SsSaISs"): (False, 8, Abi.copy_on_write),
    _LIST_DELETER.format(f"St4pairI{_LONG_STRING}St8optionalIiEESaISB_"): (True, 40, Abi.libstdcxx),
    _LIST_DELETER.format(f"{_LONG_STRING}SaIS7_"): (False, 32, Abi.libstdcxx),
}

INSTRUCTION_COUNT: Final = named(
    "llvm::Module::getInstructionCount", "_ZNK4llvm6Module19getInstructionCountEv"
)

# The names of passes. printPassNames uses nothing of its object.
PRINT_PASS_NAMES: Final = named(
    "llvm::PassBuilder::printPassNames", "_ZN4llvm11PassBuilder14printPassNamesERNS_11raw_ostreamE"
)
MAKE_STREAM: Final = named(
    "the constructor of llvm::raw_fd_ostream", "_ZN4llvm14raw_fd_ostreamC1EibbNS_11raw_ostream11OStreamKindE"
)
END_STREAM: Final = named("the destructor of llvm::raw_fd_ostream", "_ZN4llvm14raw_fd_ostreamD1Ev")


def _plain(*symbols: str) -> dict[str, Fact[None]]:
    return {symbol: exported(symbol) for symbol in symbols}


_MODULE_CONTEXT = "LLVMGetModuleContext"
MODULE_CONTEXT: Final = exported(_MODULE_CONTEXT)

# In the order of LlvmCalls in native/intercept/runs.hpp.
INTERCEPTING: Final = tuple(
    _plain(
        _MODULE_CONTEXT,
        "LLVMGetFirstFunction",
        "LLVMGetNextFunction",
        "LLVMGetGlobalParent",
        "LLVMGetStringAttributeAtIndex",
        "LLVMGetStringAttributeValue",
        "LLVMGetTarget",
        "LLVMGetTargetMachineTriple",
    ).values()
)

METADATA: Final = {
    **_plain(
        _MODULE_CONTEXT,
        "LLVMGetModuleIdentifier",
        "LLVMGetSourceFileName",
        "LLVMGetNamedMetadata",
        "LLVMGetNamedMetadataNumOperands",
        "LLVMGetNamedMetadataOperands",
        "LLVMAddNamedMetadataOperand",
        "LLVMIsAMDNode",
        "LLVMIsAMDString",
        "LLVMGetMDNodeNumOperands",
        "LLVMGetMDNodeOperands",
        "LLVMGetMDString",
        "LLVMMDStringInContext2",
        "LLVMMDNodeInContext2",
        "LLVMMetadataAsValue",
    ),
    "clear": named("llvm::NamedMDNode::clearOperands", "_ZN4llvm11NamedMDNode13clearOperandsEv"),
}

# What native/python/compile_calls.hpp calls these functions, and what the library does.
COMPILING: Final = {
    "parse_pipeline": named(
        "llvm::PassBuilder::parsePassPipeline",
        "_ZN4llvm11PassBuilder17parsePassPipelineERNS_11PassManagerINS_6ModuleENS_15AnalysisManagerIS2_JEEEJ"
        "EEENS_9StringRefE",
    ),
    "set_diagnostic_handler": named(
        "llvm::LLVMContext::setDiagnosticHandlerCallBack",
        "_ZN4llvm11LLVMContext28setDiagnosticHandlerCallBackEPFvPKNS_14DiagnosticInfoEPvES4_b",
    ),
    "instruction_count": INSTRUCTION_COUNT,
    "verify_module": named("llvm::verifyModule", "_ZN4llvm12verifyModuleERKNS_6ModuleEPNS_11raw_ostreamEPb"),
    "error_message": exported("LLVMGetErrorMessage"),
    "dispose_error_message": exported("LLVMDisposeErrorMessage"),
    "diagnostic_handler": exported("LLVMContextGetDiagnosticHandler"),
    "diagnostic_severity": exported("LLVMGetDiagInfoSeverity"),
    "diagnostic_description": exported("LLVMGetDiagInfoDescription"),
    "dispose_message": exported("LLVMDisposeMessage"),
}

# The types of options, as the names of their vtables have them.
SCALARS: Final = {
    "b": Kind.boolean,
    "NS0_13boolOrDefaultE": Kind.bool_or_default,
    "i": Kind.int32,
    "j": Kind.uint32,
    "l": Kind.int64,
    "x": Kind.int64,
    "m": Kind.uint64,
    "y": Kind.uint64,
    "f": Kind.float32,
    "d": Kind.float64,
    "c": Kind.character,
    "Ss": Kind.string,  # the copy-on-write std::string
    "NSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE": Kind.long_string,  # libstdc++'s newer one
    "NSt3__112basic_stringIcNS2_11char_traitsIcEENS2_9allocatorIcEEEE": Kind.libcxx_string,
}
# In the names of other classes, which are refused.
UNKNOWN_LAYOUT: Final = r"^St3set|^NSt3__13set|basic_string|__cxx11"
STANDARD_CLASS: Final = ("St", "NSt")  # how the names of the standard library's classes begin
REGISTRY_PARSER: Final = "RegisterPassParser"

# What a stripped library shows of itself: exported functions, two by their place in the table of a parser
# that lists choices; functions of C and C++. And how names begin of functions that run while it is loaded.
ANCHOR: Final = named("llvm::cl::Option::anchor", "_ZN4llvm2cl6Option6anchorEv")
CHOOSING_NAMED: Final = {
    5: named(
        "llvm::cl::generic_parser_base::getOptionWidth",
        "_ZNK4llvm2cl19generic_parser_base14getOptionWidthERKNS0_6OptionE",
    ),
    7: named(
        "llvm::cl::generic_parser_base::printOptionInfo",
        "_ZNK4llvm2cl19generic_parser_base15printOptionInfoERKNS0_6OptionEm",
    ),
}
INSTALL_ERROR_HANDLER: Final = named(
    "llvm::install_fatal_error_handler", "_ZN4llvm27install_fatal_error_handlerEPFvPvPKcbES0_"
)
CREATE_ALLOCATOR: Final = named(
    "llvm::TargetPassConfig::createRegAllocPass", "_ZN4llvm16TargetPassConfig18createRegAllocPassEb"
)
ONCE_FUNCTION: Final = "pthread_once"
AT_EXIT: Final = "__cxa_atexit"
DELETE: Final = "_ZdlPvm"
GUARD_ACQUIRE: Final = "__cxa_guard_acquire"
INITIALISER: Final = "_GLOBAL__sub_I_"

VTABLE: Final = "_ZTV"
GUARD: Final = "_ZGV"  # how the names begin of what guards the making of a variable: a word
ALIAS: Final = "_ZTVN4llvm2cl5aliasE"
OPT: Final = r"_ZTVN4llvm2cl3optI(?P<type>.+?)Lb(?P<external>[01])E(?P<parser>.+)EE"
LIST: Final = r"_ZTVN4llvm2cl(?P<class>4list|4bits)I(?P<type>.+)EE"

# The type behind `pass-remarks` and its kin, in the name of their class: {std::shared_ptr<Regex>}.
PASS_REMARKS: Final = "N12_GLOBAL__N_114PassRemarksOptE"
PASS_REMARKS_BYTES: Final = 16

# A constructor of an option. Compilers make one for a static option of a function: it names that option.
OPTION_CONSTRUCTOR: Final = r"_ZN4llvm2cl((3opt|4list|4bits)I.*E|5alias)C[12]I"

# Parts of the names of the virtual functions that are called by their place in a vtable: of a parser that
# lists choices, as `Choices` has them, and of an option.
CHOOSING: Final = ("getNumOptions", "getOptionEj", "getDescription", "getOptionValueEj")
VIRTUAL_FUNCTIONS: Final = (*CHOOSING, "setDefault", "getValueExpectedFlagDefault")

# What invokes the callback that options up to LLVM 21 have unless they are given another: an empty lambda,
# the initialiser of the member, which compilers name after the member or the class. Later ones have none.
IDLE_CALLBACK: Final = r"(8CallbackM|4llvm2cl(3opt|4list|4bits)I.*E)Ul.*9_M_invoke"
