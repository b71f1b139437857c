"""What is compiled: the jobs of tests/programs/sample without their options, every file for every target."""

from __future__ import annotations

from pathlib import Path

from evidence.conformance.job import Job, compile_job
from evidence.conformance.runlines import read_jobs
from optctx import record

__all__ = ["PASSES", "jobs", "read_by_jobs"]

_ROOT = Path(__file__).parents[2] / "programs"
_TRIPLES = [
    "x86_64-unknown-linux-gnu",
    "i386-unknown-linux-gnu",
    "aarch64-unknown-linux-gnu",
    "arm64-apple-macosx",
    "armv7-unknown-linux-gnueabihf",
    "thumbv8.1m.main-none-eabi",
    "riscv64-unknown-linux-gnu",
    "powerpc64le-unknown-linux-gnu",
    "powerpc-unknown-linux-gnu",
    "mips-unknown-linux-gnu",
    "mipsel-unknown-linux-gnu",
    "s390x-unknown-linux-gnu",
    "sparcv9-unknown-linux-gnu",
    "hexagon-unknown-elf",
    "amdgcn-amd-amdhsa",
    "nvptx64-nvidia-cuda",
    "bpfel-unknown-none",
    "wasm32-unknown-unknown",
    "loongarch64-unknown-linux-gnu",
    "lanai",
    "msp430",
    "xcore",
    "spirv64-unknown-unknown",
    "avr",
    "r600",
    "ve-unknown-linux-gnu",
    "x86_64-pc-windows-msvc",
    "powerpc64-ibm-aix",
]
_PIPELINES = ("default<O0>", "default<O3>", "default<Oz>", "lto<O2>", "thinlto-pre-link<O2>")
PASSES = (
    "function(loop-mssa(licm,simple-loop-unswitch<nontrivial>),loop(loop-idiom,indvars,loop-deletion,"
    "loop-interchange),loop-fusion,loop-distribute,loop-unroll-and-jam)",
    "function(newgvn,gvn-hoist,gvn-sink,constraint-elimination,dfa-jump-threading,irce,"
    "guard-widening,loop-data-prefetch,nary-reassociate)",
    "function(separate-const-offset-from-gep,slsr,speculative-execution,lower-switch,structurizecfg,"
    "consthoist,chr,callsite-splitting,partially-inline-libcalls)",
    "partial-inliner,hotcoldsplit,iroutliner,mergefunc,globalopt,argpromotion,ipsccp,attributor,"
    "openmp-opt,lowertypetests,wholeprogramdevirt",
    "asan",
    "msan",
    "hwasan",
    "function(tsan)",
    "sancov-module",
    "dfsan",
    "memprof-module",
    "pgo-instr-gen,instrprof",
    "nsan",
    "tysan",
    "function(sroa,early-cse<memssa>,instcombine,loop-vectorize,slp-vectorizer,vector-combine,"
    "load-store-vectorizer,infer-alignment)",
    "cgscc(inline,function-attrs,argpromotion),module-inline,sample-profile,globaldce,constmerge,"
    "elim-avail-extern,rpo-function-attrs",
    "function(sandbox-vectorizer,loop-versioning,loop-load-elim,float2int,div-rem-pairs,mergeicmps,"
    "expand-memcmp,jump-table-to-switch,sink)",
    "function(lower-matrix-intrinsics,safe-stack,dwarf-eh-prepare,codegenprepare,"
    "complex-deinterleaving,interleaved-access,select-optimize,typepromotion)",
)  # fmt: skip


def jobs() -> list[Job]:
    """Those that stock LLVM compiles."""
    found: dict[Job, None] = {}
    for job in read_jobs(_ROOT, ["sample"], lambda _: False)[0]:
        found.setdefault(job.bare())
    for path in map(str, sorted((_ROOT / "sample").glob("*.ll"))):
        for triple in _TRIPLES:
            found.setdefault(Job("llc", path, triple=triple))
            found.setdefault(Job("llc", path, triple=triple, opt_level=0, as_object=True))
        for passes in (*_PIPELINES, *PASSES):
            found.setdefault(Job("opt", path, passes, triple=_TRIPLES[0]))
    return list(found)


def read_by_jobs(found: list[Job]) -> dict[str, list[Job]]:
    """Option -> the jobs that read it, of those that LLVM compiles."""
    readers: dict[str, list[Job]] = {}
    for job in found:
        with record() as log:
            outcome = compile_job(job)
        if outcome.kind == "output":
            for name in log.names:
                readers.setdefault(name, []).append(job)
    return readers
