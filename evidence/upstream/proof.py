"""Threads with different options, by each of the prototype's doors, against processes of opt and llc."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from evidence.conformance.job import Job, source
from evidence.conformance.library import compile_by_llvm_c
from evidence.shell import StepError, run
from evidence.strategies import Strategy, open_strategy
from optctx import libllvm

from .setup import Setup
from .ways import at_once

PASSES = "default<O3>"
OPTION_SETS: tuple[tuple[str, ...], ...] = (
    (),
    ("-unroll-count=2",),
    ("-unroll-count=8", "-unroll-runtime=false"),
    ("-force-vector-width=8", "-force-vector-interleave=2"),
    ("-force-vector-width=1", "-unroll-threshold=1"),
    ("-inline-threshold=0", "-phi-node-folding-threshold=8"),
    ("-inline-threshold=5000", "-licm-mssa-max-acc-promotion=0"),
    ("-runtime-memory-check-threshold=0",),
    ("-rotation-max-header-size=0",),
    ("-slp-threshold=-100", "-jump-threading-threshold=0"),
)
INPUTS = (
    "Transforms/PhaseOrdering/X86/vector-reductions.ll",
    "Transforms/PhaseOrdering/X86/pixel-splat.ll",
    "Transforms/PhaseOrdering/X86/hoist-load-of-baseptr.ll",
    "Transforms/LoopVectorize/X86/gather_scatter.ll",
    "Transforms/LoopUnroll/runtime-loop.ll",
    "Transforms/Inline/basictest.ll",
)
# Read while the legacy pass manager of a code generator runs its passes. Only ALL=1 rebuilds what reads the
# last one.
EMITTED = "Transforms/LoopStrengthReduce/X86/lsr-insns-1.ll"
EMIT_SETS: tuple[tuple[str, ...], ...] = ((), ("-lsr-insns-cost=false",))
EMIT_SETS_OF_ALL: tuple[tuple[str, ...], ...] = (
    *EMIT_SETS,
    ("-align-all-blocks=3",),
    ("-align-all-blocks=4", "-lsr-insns-cost=false"),
)


@dataclass(frozen=True)
class Outcome:
    """What was compared. `distinct`: different outputs of processes, summed over the inputs."""

    inputs: int
    threads: int
    distinct: int


def prove(setup: Setup, opt: Path, library: Path, kernel: Path, *, all_files: bool) -> Outcome:
    """Compares threads with processes, for each input and door. Raises StepError if one differs.

    `opt`: the patched one; Debian's has to print the same. `library`: of the prototype. `all_files`: whether
    all files that know options are patched, those of the code generator among them.
    """
    tests = setup.source / "llvm" / "test"
    way = open_strategy("source", str(library))
    way.prepare()
    threads = distinct = 0
    for file in (kernel, *(tests / name for name in INPUTS)):
        given = {options: _optimised(setup, opt, file, options) for options in OPTION_SETS}
        threads += _compare(way, Job("opt", str(file), PASSES), given)
        distinct += len(set(given.values()))
    file = tests / EMITTED
    llc: list[str | Path] = [setup.tool("llc"), "-asm-verbose=false", "-o", "-", file]
    given = {options: run([*llc, *options]) for options in (EMIT_SETS_OF_ALL if all_files else EMIT_SETS)}
    threads += _compare(way, Job("llc", str(file)), given)
    return Outcome(len(INPUTS) + 2, threads, distinct + len(set(given.values())))


def _optimised(setup: Setup, opt: Path, file: Path, options: tuple[str, ...]) -> str:
    """What the patched opt prints, once Debian's opt is seen to print the same."""
    words: list[str | Path] = ["-S", f"-passes={PASSES}", *options, file]
    patched, stock = run([opt, *words]), run([setup.tool("opt"), *words])
    if patched != stock:
        raise StepError(f"{file.name} with {options}: the patched opt and Debian's differ")
    return patched


def _compare(way: Strategy, job: Job, given: dict[tuple[str, ...], str]) -> int:
    """Compares what processes gave with what threads give that all compile at once; the number of threads."""
    threads = 0
    for door in (_in_scopes, _bound, _pooled):
        jobs = [
            replace(job, options=options) for options in given if door is not _bound or _bindable(options)
        ]
        for one, found in zip(jobs, door(way, jobs), strict=True):
            if _nameless(found, "module") != _nameless(given[one.options], job.path, Path(job.path).name):
                raise StepError(
                    f"{job.path}, {door.__name__}: the thread with {one.options} got another output than a "
                    "process, while other threads had other options"
                )
        threads += len(jobs)
    return threads


def _nameless(text: str, *names: str) -> str:
    """Without the name of the module, which is that of its file only where there is one."""
    for name in names:
        text = text.replace(name, "_")
    return text


def _bindable(options: tuple[str, ...]) -> bool:
    """Whether passes read the options while they run. The inliner's threshold is read when it is made."""
    return not any("inline-threshold" in option for option in options)


def _compiled(way: Strategy, job: Job, prepare: Callable[[libllvm.Module], object] = lambda _: None) -> str:
    return compile_by_llvm_c(libllvm.open(way.llvm), job, source(job.path), prepare).decode()


def _in_scopes(way: Strategy, jobs: list[Job]) -> list[str]:
    def compiled(job: Job) -> str:
        with way.scope(job.options):
            return _compiled(way, job)

    return at_once(compiled, jobs)


def _bound(way: Strategy, jobs: list[Job]) -> list[str]:
    c = ctypes.CDLL(way.llvm)

    def compiled(job: Job) -> str:
        def bind(module: libllvm.Module) -> None:
            with way.scope(job.options):
                c.optctx_prototype_bind(ctypes.c_void_p(module.context_address))

        return _compiled(way, job, bind)

    return at_once(compiled, jobs)


def _pooled(way: Strategy, jobs: list[Job]) -> list[str]:
    """Tasks of a pool of LLVM's, each of which sees the scope in which it was queued."""
    c = ctypes.CDLL(way.llvm)
    c.optctx_prototype_pool.restype = ctypes.c_void_p
    pool = ctypes.c_void_p(c.optctx_prototype_pool())
    found: dict[Job, str] = {}
    tasks = []
    for job in jobs:
        tasks.append(ctypes.CFUNCTYPE(None)(lambda job=job: found.update({job: _compiled(way, job)})))
        with way.scope(job.options):
            c.optctx_prototype_queue(pool, tasks[-1])
    c.optctx_prototype_wait(pool)
    return [found.get(job, "") for job in jobs]
