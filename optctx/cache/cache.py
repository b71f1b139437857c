"""`CompileCache` compiles each input once for each set of values that LLVM reads for it."""

from __future__ import annotations

import os
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from optctx.cache.entries import (
    Situation,
    input_key,
    pack_reads,
    pack_result,
    printing_options,
    unpack_reads,
    unpack_result,
)
from optctx.context.context import OptionContext
from optctx.context.lookups import seen, values_outside
from optctx.engine.attach import attach
from optctx.engine.engine import Engine
from optctx.errors import OptctxError, shown
from optctx.hosts.llvmlite.objects import module_address
from optctx.locks import Rank, lock_held_by_fork
from optctx.reads.recording import record
from optctx.store import FolderStore
from optctx.travelling.attaching import compiles_outside

if TYPE_CHECKING:
    from llvmlite.binding import ModuleRef

    from optctx.compiling import CodeModel, Emit, Job, Reloc, Result


class CompileCache:
    """A cache of compiled code, keyed by input, pipeline, target and the options that the compilation read.

    Option sets that differ only in options that the compilation does not read share an entry. A change of an
    option that it reads is a miss. Values are taken from the scope of the calling thread. Entries of another
    LLVM library, by build id, are never found.

    A compilation that does more than make code is not cached: under an option that prints, draws or writes
    files (`Option.trust` is "output") nothing is looked up and nothing is kept, so it prints every time.

    `hits` and `misses` count the calls of `compile`, over all threads; `skipped` counts
    those that were not cached, by the name of the option that is the reason.

    The cache itself never makes a compilation fail or wait: a full disk, a damaged entry, or a folder that
    cannot be read or written is a miss, with a `CacheWarning` for the first problem of each kind.

    An option whose value is the path of a file stands for the content of the file. Other files that LLVM
    reads, such as those that inline assembly includes, are not part of the key.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        *,
        size_limit: int = 1 << 30,
    ) -> None:
        """Open a cache.

        Args:
            directory: A folder that any number of processes and threads of this user can share. A missing
                folder is created with permissions 0700. Who can write to the folder decides what code is run.
            size_limit: Bytes. The least recently used entries are dropped first. The folder can exceed the
                limit by a sixteenth for each process that writes to it.

        Raises:
            OptctxError: The folder cannot be opened.
            TypeError: An argument has another type.
        """
        if not isinstance(size_limit, int):
            raise TypeError(f"expected size_limit to be an int, found {type(size_limit).__name__}")
        self._store = FolderStore(directory, size_limit)
        self._lock = lock_held_by_fork(Rank.COUNTS)
        self._where = shown(os.fsdecode(directory))
        self.hits = 0
        self.misses = 0
        self.skipped: Counter[str] = Counter()

    def __repr__(self) -> str:
        skipped = f", not cached because of {', '.join(sorted(self.skipped))}" if self.skipped else ""
        return f"<CompileCache in {self._where}: {self.hits:,} hits, {self.misses:,} misses{skipped}>"

    def clear(self) -> None:
        """Drop every entry, those of all processes. Warns of entries that cannot be dropped."""
        self._store.clear()

    def compile(
        self,
        module: ModuleRef | str | bytes,
        passes: str = "default<O3>",
        *,
        triple: str = "",
        cpu: str = "",
        features: str = "",
        opt_level: int = 2,
        reloc: Reloc = "pic",
        code_model: CodeModel = "default",
        emit: Emit = "object",
    ) -> Result:
        """Compile a module under the option values of this thread, or find the result in the cache.

        The module itself is not changed. Any number of threads can call at once.

        Args:
            module: A module of llvmlite's, or IR as text or bitcode. It is parsed into an LLVMContext of its
                own, so bindings do not count. Attributes of functions count if `optctx.attach` has enabled
                them.
            passes: As for `run_passes`.
            triple, cpu, features, opt_level, reloc, code_model: The target, as in `Job`. "native" is the
                processor of this machine; another machine does not find what was compiled for it.
            emit: "object" or "assembly", which give `Result.code`, or "ir", which gives `Result.ir`.

        Raises:
            OptctxError: LLVM refuses the IR, the pipeline or the target, or `emit` is none of these.
            OutsideScopeError: This thread is outside every scope, which `attach(outside="error")` forbids.
            TypeError: An argument has another type.
        """
        from optctx.compiling import Job, initialise_targets

        target: dict[str, Any] = {"triple": triple, "cpu": cpu, "features": features, "opt_level": opt_level}
        target |= {"reloc": reloc, "code_model": code_model}
        job = Job(_source(module), passes, emit=emit, **target)
        given = None if isinstance(module, str | bytes) else module
        initialise_targets()
        engine = attach()
        context = seen(engine, "compile")
        if context is None:
            compiles_outside(engine)
            context = values_outside(engine)
        return self._find_or_compile(engine, context, job, given)

    def _find_or_compile(
        self, engine: Engine, context: OptionContext, job: Job, given: ModuleRef | None
    ) -> Result:
        started = time.perf_counter()
        if printing := printing_options(engine, context._native):
            with self._lock:
                self.skipped.update(printing[:1])
            return _checked(context.run(_compile, job, given))
        under = input_key(engine, job)
        situation = Situation(engine, context._native)
        for names in self._known_reads(under):
            key = situation.key(under, names)
            entry = self._store.get(key)
            if entry is not None:
                self._count(hit=True)
                return unpack_result(entry, time.perf_counter() - started)
        self._count(hit=False)
        # Compile inside a scope, so process-wide changes by other threads have no effect.
        with context, record() as log:
            result = _compile(job, given)
        _checked(result)
        names = sorted(log.names)  # of the options that it may have read
        key = situation.key(under, names)
        # Keep it unless a file, or an option that cannot be scoped, was changed during the compilation.
        if Situation(engine, context._native).key(input_key(engine, job), names) == key:
            self._keep(under, key, names, result)
        return result

    def _keep(self, under: str, key: str, names: list[str], result: Result) -> None:
        self._store.set(key, pack_result(result))
        with self._store.changing:
            known = self._known_reads(under)
            if names not in known:
                self._store.set(under, pack_reads([*known, names]))

    def _known_reads(self, under: str) -> list[list[str]]:
        entry = self._store.get(under)
        return [] if entry is None else unpack_reads(entry)

    def _count(self, *, hit: bool) -> None:
        with self._lock:
            self.hits += hit
            self.misses += not hit


def _compile(job: Job, given: ModuleRef | None) -> Result:
    """Compile. `given`: the module that the job's bitcode was made of; if it is sound, so is the bitcode."""
    from optctx.compiling import check_target, compile_job, compile_unchecked
    from optctx.hosts.llvmlite.compiling import verifier_words

    sound = given is not None and not verifier_words(module_address(given))
    return compile_unchecked(job, check=check_target) if sound else compile_job(job)


def _checked(result: Result) -> Result:
    if result.error is not None:
        raise OptctxError(result.error)
    return result


def _source(module: ModuleRef | str | bytes) -> str | bytes:
    if isinstance(module, str | bytes):
        return module
    module_address(module)  # raises if it is not a module, or closed
    bitcode: bytes = module.as_bitcode()
    return bitcode
