"""The engine and the prototype on one LLVM: in a library of stock objects, and in one with patched ones."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from hypothesis import given, settings
from hypothesis import strategies as st

from evidence.shell import StepError
from evidence.strategies import Strategy, open_strategy
from evidence.strategies.judging import Judge
from evidence.strategies.kernel import KERNEL, OPTIONS
from evidence.strategies.program import digest
from evidence.strategies.properties import PROPERTIES
from optctx import Option, OptionContext, registry
from optctx.compiling import Job
from optctx.errors import OptctxError
from optctx.libllvm.functions import FUNCTIONS
from optctx.testing import crash_proof, jobs, options, overrides

from .build import Builder
from .programs import CPP, compile_object, link, patched_includes
from .setup import Setup

_PARTS = ("TargetInfo", "Target", "TargetMC", "AsmPrinter", "AsmParser")
ROOTS = (*FUNCTIONS, *(f"LLVMInitializeX86{part}" for part in _PARTS))
T = TypeVar("T")
_EXAMPLES = 300  # pairs of compilations
# The properties that a way does not have: contexts of the prototype fall back to the values of the process.
_LACKS = {"thread": set[str](), "source": {"independence"}}


@dataclass(frozen=True)
class Ways:
    """What came of both. `holding`: of each way, the properties that hold; `programs` that were run."""

    holding: dict[str, list[str]]
    programs: int
    options: int  # that both ways can set
    pairs: int  # of threads that compiled at the same time


def make_libraries(setup: Setup, builder: Builder, patched: Sequence[Path]) -> dict[str, Path]:
    """The library of each way. `patched`: the archives with rebuilt objects."""
    support = setup.source / "llvm" / "include" / "llvm" / "Support"
    headers = [support / name for name in ("CommandLine.h", "OptionContext.h", "ThreadPool.h")]
    scopes = compile_object(setup, CPP / "scopes.cpp", "scopes", patched_includes(setup), headers)
    flags = ["-shared", "-Wl,-Bsymbolic-functions,--build-id,-z,defs", *(f"-Wl,-u,{root}" for root in ROOTS)]
    return {
        "thread": link(setup, "libLLVM-stock.so", ["-lzstd"], builder.archives(), flags),
        "source": link(setup, "libLLVM-prototype.so", [scopes, "-lzstd"], patched, flags),
    }


def compare(libraries: dict[str, Path]) -> Ways:
    """Ask each way for every property, and compare what both give. Raises StepError for a difference."""
    ways = {name: open_strategy(name, str(path)) for name, path in libraries.items()}
    holding, programs = {}, 0
    for name, way in ways.items():
        with Judge(name, Job(KERNEL, emit="assembly", llvm=way.llvm), OPTIONS) as judge:
            verdicts = [judge.judge(each) for each in PROPERTIES]
        if judge.refused:
            raise StepError(f"{name!r} refuses options: {judge.refused}")
        if {each.property for each in verdicts if not each.holds} != _LACKS[name]:
            raise StepError(f"{name!r}: {[each for each in verdicts if not each.holds]}")
        holding[name] = [each.property for each in verdicts if each.holds]
        programs += sum(each.programs for each in verdicts)
    return Ways(holding, programs, *_equal(ways))


def _equal(ways: dict[str, Strategy]) -> tuple[int, int]:
    """(options that both ways set, pairs of threads whose output was the same both ways)."""
    thread, source = ways["thread"], ways["source"]
    source.prepare()
    common = {option.name for option in registry(thread.image).values() if _takes(source, thread, option)}
    drawn = overrides(
        options(image=thread.image).filter(lambda option: option.name in common), image=thread.image
    )
    one = jobs(overrides=drawn, llvm=thread.llvm, emit="assembly")
    pairs = 0

    @settings(max_examples=_EXAMPLES, deadline=None, database=None, derandomize=True)
    @given(st.tuples(one, one))
    def same(pair: tuple[Job, Job]) -> None:
        nonlocal pairs
        compare_pair(pair)
        pairs += 1

    @crash_proof(timeout=60)
    def compare_pair(pair: tuple[Job, Job]) -> None:
        found = {name: at_once(partial(_digest, way), pair) for name, way in ways.items()}
        assert found["thread"] == found["source"], [job.options for job in pair]

    same()
    return len(common), pairs


def _takes(source: Strategy, thread: Strategy, option: Option) -> bool:
    """Whether contexts can hold the option both ways: one that no file of the rebuilt ones reads is stock."""
    if option.scope == "process" or option.alias_of is not None:
        return False
    try:
        with source.scope(
            OptionContext({option.name: option.default}, base="defaults", image=thread.image).args()
        ):
            return True
    except OptctxError:
        return False


def _digest(way: Strategy, job: Job) -> str:
    return digest(way.compile(replace(job, llvm=way.llvm)))


def at_once(compiled: Callable[[T], str], jobs: Sequence[T]) -> list[str]:
    """What threads give that compile at the same time, each a job."""
    ready = threading.Barrier(len(jobs))

    def work(job: T) -> str:
        ready.wait()
        return compiled(job)

    with ThreadPoolExecutor(len(jobs)) as pool:
        return list(pool.map(work, jobs))
