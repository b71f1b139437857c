"""Options of the programs around LLVM, which its library does not have, and what does the same here."""

_RUN = "write the module to a file and run {program} with it"
_MACHINE = "name it to the target machine: create_target_machine({argument}=...)"
_RELOC = f"{_MACHINE.format(argument='reloc')}, or --llc -relocation-model=pic"
_FEATURES = "the target machine: create_target_machine(features='{0}'), or --llc -mattr={0}"
_FLAG = "write the fast-math flag {flag} on the instructions"
_ATTRIBUTE = "write the attribute {attribute} on the functions"

_ALL = "the programs clang, opt and llc"
_BOTH = "the programs opt and llc"

# (programs, names as patterns, what does the same). The first match counts. In the last, NAME stands for the
# name, ON and OFF for the feature that a name such as mavx2 or mno-avx2 turns on or off.
TOOL_FLAGS = (
    ("clang", "mllvm Xllvm Xclang Xlinker Xassembler", "leave it out, and write an LLVM option alone"),
    ("clang", r"mno-[\w.-]+", f"turn the feature off for {_FEATURES.format('-OFF')}"),
    (
        "clang",
        r"m(sse|avx|fma|bmi|aes|popcnt|lzcnt|f16c|adx|sha)[\w.-]*",
        f"turn the feature on for {_FEATURES.format('+ON')}",
    ),
    (_BOTH, "mattr target-feature", f"name the features to {_FEATURES.format('+avx2,-fma')}"),
    (
        _ALL,
        "march mcpu mtune target-cpu",
        "name the processor to the target machine: create_target_machine(cpu=...), or --llc -mcpu=native",
    ),
    (
        _ALL,
        "mtriple target triple arch",
        "name the target instead: Target.from_triple(...), or --llc -mtriple=TRIPLE",
    ),
    (_BOTH, "relocation-model", _RELOC),
    ("clang", "fPIC fpic fPIE fpie fno-pic fno-pie", _RELOC),
    (
        _BOTH,
        "code-model mcmodel",
        f"{_MACHINE.format(argument='codemodel')}, or --llc -code-model=small",
    ),
    (_BOTH, "target-abi mabi", _MACHINE.format(argument="abiname")),
    ("opt", "codegen-opt-level", _MACHINE.format(argument="opt")),
    ("the programs clang and opt", r"O([0-3sz]|fast|\d+)?", "name the pipeline instead: 'default<LEVEL>'"),
    (_BOTH, "passes p", "pass the pipeline to run_passes(module, 'default<O3>'), or --passes"),
    ("opt", r"passes-ep-[\w-]+", "write the passes into the pipeline: run_passes(module, ...), or --passes"),
    (_BOTH, "disable-verify verify-each", "name the pass 'verify' in the pipeline where it shall run"),
    ("opt", "disable-loop-unrolling", "set loop_unrolling of PipelineTuningOptions to False"),
    ("opt", "data-layout", "set module.data_layout"),
    (
        "clang",
        r"f(fast-math|unsafe-math-optimizations|fp-contract|no-math-errno|no-signed-zeros|reciprocal-math"
        r"|finite-math-only|associative-math|approx-func|fp-model)",
        "clang writes it into the IR as fast-math flags; compile the source with it",
    ),
    (_BOTH, "fp-contract", _FLAG.format(flag="contract")),
    (_BOTH, "enable-no-infs-fp-math", _FLAG.format(flag="ninf")),
    (_BOTH, "enable-no-nans-fp-math", _FLAG.format(flag="nnan")),
    (_BOTH, "enable-no-signed-zeros-fp-math", _FLAG.format(flag="nsz")),
    (_BOTH, "enable-approx-func-fp-math", _FLAG.format(flag="afn")),
    (_BOTH, "enable-unsafe-fp-math", _FLAG.format(flag="fast")),
    (_BOTH, "frame-pointer", _ATTRIBUTE.format(attribute='"frame-pointer"="all"')),
    (_BOTH, "disable-tail-calls", _ATTRIBUTE.format(attribute='"disable-tail-calls"="true"')),
    (_BOTH, "stackrealign", _ATTRIBUTE.format(attribute='"stackrealign"')),
    (_BOTH, "denormal-fp-math(-f32)?", _ATTRIBUTE.format(attribute='"NAME"="preserve-sign"')),
    ("opt", "disable-builtin", _ATTRIBUTE.format(attribute='"no-builtin-FUNCTION"')),
    (_BOTH, "disable-simplify-libcalls", _ATTRIBUTE.format(attribute='"no-builtins"')),
    (_BOTH, "float-abi", "name the ABI in the triple, such as armv7-linux-gnueabihf for hard"),
    (_BOTH, "trap-func", 'write the attribute "trap-func-name"="FUNCTION" on the calls of llvm.trap'),
    (_BOTH, "tailcallopt", "give the functions the calling convention tailcc"),
    (_BOTH, "function-sections data-sections", "name a section for each function or variable in the module"),
    (_BOTH, "filetype disable-output o f S", "use str(module), emit_object or emit_assembly"),
    (
        _BOTH,
        # the code generator's
        "thread-model large-data-threshold exception-model enable-no-trapping-fp-math swift-async-fp "
        "vec-extabi enable-sign-dependent-rounding-fp-math nozero-initialized-in-bss stack-symbol-ordering "
        "use-ctors ignore-xcoff-visibility xcoff-traceback-table basic-block-address-map "
        "basic-block-sections tls-size emulated-tls enable-tlsdesc unique-section-names "
        "unique-basic-block-section-names meabi addrsig separate-named-sections debugger-tune "
        "stack-size-section call-graph-section emit-call-site-info debug-entry-values "
        "split-machine-functions partition-static-data-sections strict-dwarf align-loops "
        "force-dwarf-frame-section xray-function-index enable-jmc-instrument mxcoff-roptr no-integrated-as "
        "save-stats relax-elf-relocations vector-library "
        # the assembler's
        "mc-relax-all incremental-linker-compatible fdpic dwarf-version dwarf64 emit-dwarf-unwind gsframe "
        "emit-compact-unwind-non-canonical fatal-warnings no-warn no-deprecated-warn no-type-check crel "
        "save-temp-labels implicit-mapsyms x86-relax-relocations x86-sse2avx reloc-section-sym "
        "large-eh-encoding as-secure-log-file asm-show-inst "
        # the programs' own
        "time-trace time-trace-granularity time-trace-file discard-value-names pass-remarks-with-hotness "
        "pass-remarks-hotness-threshold pass-remarks-output pass-remarks-filter pass-remarks-format load "
        "load-pass-plugin try-experimental-debuginfo-iterators",
        _RUN.format(program="llc or opt"),
    ),
    (
        "llc",
        "split-dwarf-output split-dwarf-file time-compilations binutils-version preserve-as-comments "
        "dwarf-directory asm-verbose compile-twice enable-new-pm run-pass show-mc-encoding",
        _RUN.format(program="llc"),
    ),
    (
        "opt",
        "bugpoint-enable-legacy-pm print-passes thinlto-bc thinlto-split-lto-unit unified-lto strip-debug "
        "thin-link-bitcode-file disable-upgrade-debug-info disable-debug-info-type-map "
        "strip-named-metadata module-summary module-hash enable-builtin enable-debugify debugify-each "
        "debugify-export verify-debuginfo-preserve verify-each-debuginfo-preserve "
        "verify-di-preserve-export enable-profcheck run-twice debug-pass-manager aa-pipeline "
        "disable-pipeline-verification pgo-kind profile-file memory-profile-file cspgo-kind "
        "cs-profilegen-file profile-remapping-file pgo-cold-func-opt "
        "debug-info-for-profiling pseudo-probe-for-profiling",
        _RUN.format(program="opt"),
    ),
    ("llvm-mc", "assemble disassemble mdis cdis hdis as-lex output-asm-variant", "run llvm-mc with it"),
    (
        "clang",
        r"f(no-)?(unroll-loops|vectorize|tree-vectorize|slp-vectorize|lto|thin-lto|inline|inline-functions|plt"
        r"|strict-aliasing|omit-frame-pointer|exceptions|rtti|openmp|wrapv|trapv|builtin|sanitize|profile-\w+"
        r"|stack-protector[\w-]*|lax-vector-conversions|function-sections|data-sections|common|visibility"
        r"|save-optimization-record|time-report|time-trace|verbose-asm|unwind-tables|veclib)",
        "compile the source with it, or look for the LLVM option with `optctx options`",
    ),
    (
        "a compiler",
        r"W[a-z][\w-]* std emit-llvm I[./].* D[A-Z_]\w* isystem include w c g\d? E",
        "leave it out",
    ),
)
