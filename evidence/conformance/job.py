"""One command line of a test as plain data, and the one function that compiles it, here and there."""

from __future__ import annotations

import gc
import hashlib
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from llvmlite import binding

from evidence.conformance.library import compile_by_llvm_c, library
from optctx import emit_assembly, emit_object, run_passes
from optctx.errors import OptctxError, ProcessWideOptionError
from optctx.hosts.llvmlite.compiling import native_api
from tests.support.audit import Access

if TYPE_CHECKING:
    from llvmlite.binding import ModuleRef, TargetMachine

# What gives a job the machine for a triple.
Machines: TypeAlias = "Callable[[Job, str], AbstractContextManager[TargetMachine]]"


@dataclass(frozen=True)
class Job:
    """What a line of `opt` or `llc` asks for. `where` ("Transforms/x.ll:3") is not part of its identity."""

    tool: str  # opt or llc
    path: str  # of the IR, absolute
    passes: str = ""  # of opt
    options: tuple[str, ...] = ()  # LLVM's own, as on the command line
    triple: str = ""
    cpu: str = ""
    features: str = ""
    layout: str = ""  # opt -data-layout
    abi: str = ""
    opt_level: int = 2
    reloc: str = "default"
    code_model: str = "default"
    as_object: bool = False
    where: str = field(default="", compare=False)

    def key(self) -> str:
        """The same for equal jobs, in every process."""
        return digest(repr(replace(self, where="")).encode())

    @property
    def solitary(self) -> bool:
        """Stock LLVM gives it other output where the process has compiled for SPIR-V before.

        A static of its module analysis keeps what it learned of functions at addresses that are used again
        (LLVM issue 160613), and two threads write it at once.
        """
        return self.triple.startswith("spirv") or "/SPIRV/" in self.path

    def bare(self) -> Job:
        """The same compilation with no option set."""
        return replace(self, options=())


@dataclass(frozen=True)
class Outcome:
    """How a job ended. Equal outcomes agree: same kind and, for output, byte-identical text.

    kind: output, error (LLVM refuses the module or the pipeline), rejected (LLVM refuses the command line),
    refused (optctx does not scope an option), died, late.
    """

    kind: str
    digest: str = ""  # of the output
    text: str = field(default="", compare=False)  # message
    accesses: tuple[Access, ...] = field(default=(), compare=False)  # seen by the audit
    neighbours: int | None = field(default=None, compare=False)  # if audited: accesses beside options
    # If recorded: options of the job that were not read, but for those of the whole process; and these.
    unread: tuple[str, ...] | None = field(default=None, compare=False)
    process: tuple[str, ...] = field(default=(), compare=False)

    def words(self) -> str:
        """Kind and digest, for evidence."""
        return f"{self.kind} {self.digest}".strip()


def digest(data: bytes) -> str:
    """A name for a text."""
    return hashlib.sha256(data).hexdigest()[:20]


@cache
def initialise() -> None:
    """Every target of the library, with printers and assembly parsers; symbols looked up once."""
    library()
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    binding.initialize_native_asmparser()
    native_api()
    gc.collect()
    gc.freeze()  # children share these pages


def compile_job(job: Job, *, machines: Machines | None = None) -> Outcome:
    """Compile with this thread's option values; context and module are made inside, and so is the target
    machine unless `machines` gives one.
    """
    try:
        data = _compile(job, machines or make_machine)
    except ProcessWideOptionError as error:
        return refusal(error)
    except OptctxError as error:
        words = str(error)
        return Outcome("error", digest(words.encode()), text=words)
    return Outcome("output", digest(data))


def refusal(error: ProcessWideOptionError) -> Outcome:
    """What optctx does not scope, by name."""
    return Outcome("refused", text=f"{error.name}: {error.reason}")


def _compile(job: Job, machines: Machines) -> bytes:
    if (own := library()) is not None:
        return compile_by_llvm_c(own, job, source(job.path))
    with binding.create_context() as context, _parse(job, context) as module:
        if job.triple:
            module.triple = job.triple
        if job.layout:
            module.data_layout = job.layout
        if job.tool == "opt" and not module.triple:
            run_passes(module, job.passes)
            return str(module).encode()
        module.triple = module.triple or binding.get_process_triple()
        with machines(job, module.triple) as machine:
            if job.tool == "opt":
                run_passes(module, job.passes, target_machine=machine)
                return str(module).encode()
            module.data_layout = str(machine.target_data)
            if job.as_object:
                return emit_object(module, machine)
            return emit_assembly(module, machine).encode()


@lru_cache(256)
def source(path: str) -> str:
    """The text of a file, which later calls need not open."""
    return Path(path).read_text(errors="replace")


def _parse(job: Job, context: binding.ContextRef) -> ModuleRef:
    try:
        return binding.parse_assembly(source(job.path), context)
    except RuntimeError as error:
        raise OptctxError(f"cannot read the module: {' '.join(str(error).split())}") from None


def make_machine(job: Job, triple: str) -> TargetMachine:
    """A machine for the job alone. Raises OptctxError where LLVM makes none."""
    try:
        target = binding.Target.from_triple(triple)
        return target.create_target_machine(
            job.cpu, job.features, job.opt_level, job.reloc, job.code_model, abiname=job.abi
        )
    except RuntimeError as error:
        raise OptctxError(f"no target machine for {triple!r}: {error}") from None


class SharedMachines:
    """Machines that live as long as the process. The job that comes first makes one, inside its context."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: dict[Job, TargetMachine] = {}

    @contextmanager
    def __call__(self, job: Job, triple: str) -> Iterator[TargetMachine]:
        """Raises OptctxError for a job that LLVM makes no machine for."""
        key = replace(
            job, tool="", path="", passes="", options=(), layout="", as_object=False, where="", triple=triple
        )
        with self._lock:
            machine = self._made.get(key)
            if machine is None:
                machine = self._made[key] = make_machine(job, triple)
        yield machine
