"""What options do to LLVM: each with hostile values, in a process that cannot reach outside."""

from __future__ import annotations

import multiprocessing
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, TypeAlias, TypeVar

from evidence.conformance.job import Job, compile_job, initialise, source
from evidence.conformance.runlines import read_jobs
from evidence.conformance.source import default_cache, llvm_tests
from optctx import OptctxError, Option, OptionContext, record, registry
from optctx.image.abi import INTEGER_RANGES
from optctx.testing.strategies import is_literal
from optctx.values import judgement_of
from tests.long.fuzz.confined import Limits, Outcome, outcomes

_READERS = 6  # compilations with each value
Finding: TypeAlias = tuple[Job, Outcome]  # what a job did beside compiling


def main() -> int:
    """Every option with hostile values, wherever it is read; status 1 if one that modules may set misbehaves.

    One line for each thing that an option does beside compiling.
    """
    initialise()
    wrong = 0
    for job, outcome in _found():
        accepted = may_be_set(job)
        wrong += accepted
        where = f"{job.path.rpartition('/')[2]} {job.passes} {job.triple}"
        judged = "modules may set " if accepted else ""
        said = " ".join(outcome.printed.split())[:200]
        print(f"{judged}{' '.join(job.options)} in {where}: {outcome.how} {said}", flush=True)
    print(f"{wrong} findings of values that modules may set")
    return int(wrong > 0)


def _found() -> Iterator[Finding]:
    names = [name for name, each in registry().items() if each.scope == "thread" and not each.alias_of]
    candidates = jobs()
    for job in candidates:  # children open no file and import nothing
        source(job.path)
    compile_job(candidates[0])
    dying = {job for job in candidates if _findings([job])}
    readers = read_by_jobs([job for job in candidates if job not in dying])
    print(f"{len(names)} options, {sum(name in readers for name in names)} of them read", flush=True)
    chance = random.Random(0)
    tried = []
    for name in names:
        chosen = unlike(readers.get(name, []), lambda job: job, chance)[:_READERS]
        options = [(f"-{name}={value}",) for value in hostile_values(registry()[name])]
        tried.append([replace(job, options=each) for job in chosen for each in options])
    # Not on threads: what is no main thread has the C library open a file when it gives memory back.
    with multiprocessing.get_context("fork").Pool() as processes:
        for found in processes.imap(_findings, tried):
            yield from found


def _findings(tried: Sequence[Job]) -> list[Finding]:
    """Compile. Return what jobs did beside it. No job follows under options that have ended one."""
    found: list[Finding] = []
    while tried:
        left: list[Job] = []
        for place, (job, outcome) in enumerate(zip(tried, outcomes(tried, _compile, Limits()), strict=False)):
            if outcome.wrong:
                found.append((job, outcome))
            if outcome.fatal:
                left = [each for each in tried[place + 1 :] if each.options != job.options]
                break
        tried = left
    return found


def _compile(job: Job) -> str:
    try:
        context = OptionContext.from_args(job.options, base="defaults")
    except OptctxError:
        return "refused"  # LLVM's parser refuses the value
    with context:
        compile_job(job)
    return "compiled"


# What is compiled: the jobs of tests/programs/sample without their options, every file for every target; and
# commands of LLVM's own tests, if a module may set their options

T = TypeVar("T")

_ROOT = Path(__file__).parents[1] / "programs"
TRIPLES = (
    "x86_64-unknown-linux-gnu", "i386-unknown-linux-gnu", "aarch64-unknown-linux-gnu", "arm64-apple-macosx",
    "armv7-unknown-linux-gnueabihf", "thumbv8.1m.main-none-eabi", "riscv64-unknown-linux-gnu",
    "powerpc64le-unknown-linux-gnu", "powerpc-unknown-linux-gnu", "mips-unknown-linux-gnu",
    "mipsel-unknown-linux-gnu", "s390x-unknown-linux-gnu", "sparcv9-unknown-linux-gnu",
    "hexagon-unknown-elf", "amdgcn-amd-amdhsa", "nvptx64-nvidia-cuda", "bpfel-unknown-none",
    "wasm32-unknown-unknown", "loongarch64-unknown-linux-gnu", "lanai", "msp430", "xcore",
    "spirv64-unknown-unknown", "avr", "r600", "ve-unknown-linux-gnu", "x86_64-pc-windows-msvc",
    "powerpc64-ibm-aix",
)  # fmt: skip
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
_NUMBERS = (0, 1, 2, 3, 7, 16, 31, 33, 64, 255, 1000, 65_536, 10**6, 2**31 - 1)
_WIDE = {
    "uint": (2**31, 2**32 - 1),
    "int": (-1, -(2**31)),
    "uint64": (2**63, 2**64 - 1),
    "int64": (-1, -(2**63)),
}
_REALS = ("0", "0.5", "1", "-1", "1e-300", "1e300", "inf", "-inf", "nan")
_TEXTS = ("", "x", "f", "f:x", "all", "main=f", "*", "1-2", "a" * 5000)


def jobs() -> list[Job]:
    """Those that stock LLVM compiles."""
    found: dict[Job, None] = {}
    for job in read_jobs(_ROOT, ["sample"], lambda _: False)[0]:
        found.setdefault(job.bare())
    for path in map(str, sorted((_ROOT / "sample").glob("*.ll"))):
        for triple in TRIPLES:
            found.setdefault(Job("llc", path, triple=triple))
            found.setdefault(Job("llc", path, triple=triple, opt_level=0, as_object=True))
        for passes in (*_PIPELINES, *PASSES):
            found.setdefault(Job("opt", path, passes, triple=TRIPLES[0]))
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


def unlike(found: Sequence[T], job_of: Callable[[T], Any], chance: Random) -> list[T]:
    """In random order, but first those that are as different in target and pipeline as there are."""
    shuffled = chance.sample(found, len(found))
    jobs = {each: job_of(each) for each in shuffled}
    kinds = {(job.triple, job.passes, job.opt_level): each for each, job in jobs.items()}
    return list(dict.fromkeys([*kinds.values(), *shuffled]))


def tuning_jobs(folders: Sequence[str]) -> list[Job]:
    """The commands of folders of llvm/test whose options, with their values, may all come from modules."""
    known = registry()

    def needs_value(name: str) -> bool | None:
        return known[name].type not in ("bool", "boolOrDefault") if name in known else None

    found, _ = read_jobs(llvm_tests(default_cache()), folders, needs_value)
    return [job for job in found if job.options and may_be_set(job)]


def may_be_set(job: Job) -> bool:
    """Whether all options of a job, with their values, may come from modules."""
    try:
        context = OptionContext.from_args(job.options, base="defaults")
    except OptctxError:
        return False
    for name, value in context.overrides.items():
        judged = judgement_of(registry()[name]._target)
        if judged.trust != "tuning" or not judged.holds_for(value):
            return False
    return True


# Values of an option that an attacker would try, and those that a module may set


def tuning_options() -> list[Option]:
    """Those that modules may set, in order of name."""
    return [
        option
        for _, option in sorted(registry().items())
        if option.trust == "tuning" and option.scope == "thread" and not option.alias_of
    ]


def spread_values(option: Option) -> list[str]:
    """A few of the values that a module may set: the bounds, what is next to them, the middle, small ones."""
    if is_literal(option):
        return ["true"]
    least, between, most = option.trusted_values.partition("..")
    if not between:
        return least.split("|") if least else hostile_values(option)
    low, high = float(least), float(most)
    if option.type in ("float", "double"):
        inside = [number for number in (0.0, 0.5, 1.0, (low + high) / 2) if low < number < high]
        return [least, *map(str, inside), most]
    smallest, largest = INTEGER_RANGES[option.type]
    bottom, top = max(int(low), smallest), min(int(high), largest)
    whole = {bottom, bottom + 1, 0, 1, 2, 7, 64, (bottom + top) // 2, top - 1, top}
    return [str(number) for number in sorted(whole) if bottom <= number <= top]


def hostile_values(option: Option) -> list[str]:
    """As command-line text, all different from each other."""
    kind = option.type
    if is_literal(option):
        return ["true"]
    if kind in ("bool", "boolOrDefault"):
        return ["true", "false"]
    if kind == "enum":
        return list(option.choices)
    if kind in _WIDE:
        return [str(number) for number in (*_NUMBERS, *_WIDE[kind])]
    if kind in ("double", "float"):
        return list(_REALS)
    return [*option.choices, *_TEXTS]


if __name__ == "__main__":
    sys.exit(main())
