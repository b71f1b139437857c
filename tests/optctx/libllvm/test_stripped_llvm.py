"""A libLLVM without a symbol table, as distributions ship it: installed ones, and one linked for the test."""

from __future__ import annotations

import subprocess

import pytest

import optctx
from optctx import OptionContext, libllvm, registry
from optctx.compiling import Job, compile_job
from optctx.image.loaded import Image
from optctx.libllvm import LibLLVM, TargetMachine
from tests.optctx.libllvm.beside_fresh import results_on_threads
from tests.support.audit import audit
from tests.support.ir_texts import COUNTED, SWITCH
from tests.support.own_llvm import claims_of, needs_archives
from tests.support.processes import forked

SETS: tuple[tuple[str, ...], ...] = (
    (),
    ("-unroll-count=4",),
    ("-force-vector-width=2", "-force-vector-interleave=2"),
    ("-inline-threshold=0", "-enable-loop-distribute"),
    ("-enable-misched=false", "-unroll-count=2"),
    ("-enable-gvn-hoist", "-enable-loopinterchange"),
)
INSTALLED = [each for each in libllvm.installed() if each.version and not each.problem]


@pytest.fixture(scope="module")
def linked(library: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """A library with its symbol table, and its copy without."""
    stripped = tmp_path_factory.mktemp("stripped") / "libLLVM.so.19.1"
    subprocess.run(["strip", "-o", stripped, library], check=True)
    return library, str(stripped)


def limits_of(image: Image) -> tuple[int, int]:
    """Return how many options are set per thread, and how many are refused."""
    scopes = [option.scope for option in registry(image).values()]
    return scopes.count("thread"), scopes.count("process")


@needs_archives
@forked
def test_what_it_claims_is_what_its_symbol_table_says(linked: tuple[str, str]) -> None:
    named, stripped = (libllvm.open(path).image for path in linked)
    assert (named.is_stripped, stripped.is_stripped) == (False, True)
    claims, all_claims = claims_of(stripped), claims_of(named)
    assert claims.options <= all_claims.options
    # It cannot tell the constructors of options, which have run, from other code.
    more = {at for at, *_ in (claims.sites - all_claims.sites) | (claims.functions - all_claims.functions)}
    functions = [named.function_at(named.base + at) for at in more]
    assert all(function is not None and "3optI" in function.name for function in functions)
    assert len(more) < 10
    assert len(claims.sites) > 0.9 * len(all_claims.sites)
    threads, refused = limits_of(stripped)
    assert refused < 0.05 * (threads + refused)


@needs_archives
@forked
def test_no_read_is_missed(linked: tuple[str, str]) -> None:
    """With a symbol table: tests/native/lab/test_audit.py."""
    _, path = linked
    image = libllvm.open(path).image
    with audit(image) as seen, OptionContext(unroll_count=4, regalloc="basic", image=image):
        compile_job(Job(COUNTED, cpu="haswell", llvm=path))
    assert seen.accesses == []
    assert seen.neighbours > 1_000


def emitted(llvm: LibLLVM, machine: TargetMachine) -> bytes:
    with llvm.parse(SWITCH) as module:
        return llvm.emit_object(module, machine)


@pytest.mark.parametrize(
    "installed",
    [pytest.param(each, id=each.version) for each in INSTALLED]
    or [pytest.param(None, marks=pytest.mark.skip("needs an installed libLLVM (Debian: libllvm19)"))],
)
@forked
def test_one_that_is_installed_compiles_as_fresh_processes_do(installed: libllvm.Installed) -> None:
    llvm = libllvm.open(installed.path)
    threads, refused = limits_of(llvm.image)
    assert refused < 0.05 * (threads + refused)
    assert optctx.info(llvm.image)["error"] is None
    results_on_threads([Job(COUNTED, options=given, llvm=llvm.path) for given in SETS], llvm.image)
    scope = OptionContext(image=llvm.image)
    with scope, llvm.target_machine("lanai") as machine:  # for which LLVM sets min-jump-table-entries
        for _ in range(2):
            emitted(llvm, machine)
        with (
            scope,
            pytest.raises(optctx.ContextMismatchError, match="in a later scope where LLVM sets options"),
        ):
            emitted(llvm, machine)
