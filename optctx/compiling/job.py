"""A compilation as plain data, and the function that runs it, on threads and in fresh processes alike."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, get_args

from optctx import libllvm
from optctx._native import run_in_task
from optctx.children.death import End
from optctx.errors import OptctxError, PassPipelineError, clipped, shown
from optctx.hosts.llvmlite.compiling import emit, instruction_count, native_api, run_passes
from optctx.image.loaded import Image
from optctx.wording import ALL_OPTNONE, counted

if TYPE_CHECKING:
    from llvmlite.binding import ContextRef, ModuleRef, TargetMachine

Reloc = Literal["default", "static", "pic", "dynamicnopic"]  # as llvmlite names relocation models
CodeModel = Literal["default", "jitdefault", "small", "kernel", "medium", "large"]
Emit = Literal["object", "assembly", "ir", "none"]  # ir: after the passes
# Of the job's own triple or its module's, and the job; raises OptctxError.
CheckTarget = Callable[[str, "Job"], None]
# The fields of a Job that decide its target machine.
TARGET = ("triple", "cpu", "features", "opt_level", "reloc", "code_model")
_SUPPORTED: tuple[CodeModel, ...] = ("default", "small")  # by every target


@dataclass(frozen=True)
class Job:
    """What to compile and how. It has no handles, so it can be sent to another process or machine.

    `options` are command-line arguments ("-unroll-count=4"). `compile_job` leaves them to its caller: a
    fresh process sets them process-wide, a thread enters an OptionContext.
    """

    ir: str | bytes  # text, or bitcode
    passes: str = "default<O3>"
    options: tuple[str, ...] = ()
    triple: str = ""  # "" takes the module's own, or this machine's if the module has none
    cpu: str = ""  # "" is the target's generic processor; "native" becomes this machine's, with its features
    features: str = ""  # such as "+avx2,-fma"
    opt_level: int = 2  # of the code generator, 0 to 3
    emit: Emit = "object"
    reloc: Reloc = (
        "pic"  # as clang compiles for Linux; "default" is LLVM's own for the target, which llc takes
    )
    code_model: CodeModel = "default"  # which is small; "jitdefault", of MCJIT and Numba, is large
    llvm: str = ""  # a libLLVM, as `optctx.libllvm.open` takes it; "" is llvmlite's

    def __post_init__(self) -> None:
        """Check what LLVM does not, and name the processor, which for another machine would be another one.

        Raises TypeError, and OptctxError for what `emit`, `reloc` and `code_model` cannot be.
        """
        for name in ("triple", "cpu", "features", "llvm"):
            if not isinstance(text := getattr(self, name), str):
                raise TypeError(f"expected {name} as text, found {type(text).__name__}")
        options: object = self.options
        if not isinstance(options, (list, tuple)) or not all(isinstance(each, str) for each in options):
            raise TypeError(
                f'expected options as texts, such as ("-unroll-count=4",), found {shown(options)}'
            )
        object.__setattr__(self, "options", tuple(options))
        if self.llvm:
            object.__setattr__(self, "llvm", libllvm.path_of(self.llvm))
        _check_choice("what a job emits", self.emit, Emit)
        _check_choice("a job's relocation model", self.reloc, Reloc)
        _check_choice("a job's code model", self.code_model, CodeModel)
        if self.cpu == "native":
            cpu, features = _this_machine(self.llvm)
            object.__setattr__(self, "cpu", cpu)
            object.__setattr__(self, "features", self.features or features)

    @property
    def image(self) -> Image | None:
        """The LLVM to compile with, as every function of optctx's takes it."""
        return image_of(self.llvm)

    @property
    def is_checked(self) -> bool:
        """Whether it names a processor, features or a code model: LLVM may end the process for another
        target's.
        """
        return bool(self.cpu or self.features) or self.code_model not in _SUPPORTED


def image_of(llvm: str) -> Image | None:
    """The image of a libLLVM, as a job names it; None for llvmlite's."""
    return libllvm.open(llvm).image if llvm else None


def _this_machine(llvm: str) -> tuple[str, str]:
    """Name the processor and its features, as this LLVM does."""
    if llvm:
        return libllvm.open(llvm).this_machine()
    from llvmlite import binding  # importing optctx works without llvmlite, here and below

    return binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten()


def _check_choice(what: str, value: object, kind: Any) -> None:
    """Raise OptctxError for a value that is none of the literals of a type."""
    known = get_args(kind)
    if not isinstance(value, str) or value not in known:
        raise OptctxError(f"{what} is one of {', '.join(known)}, found {shown(value)}")


@dataclass(frozen=True)
class Result:
    """The output of a compilation. Equality compares the output, not times and messages.

    `error` is None after success. After a failure it says what went wrong, and there is no output. `end`:
    "ok", "failed" if LLVM refused, and otherwise what ended the fresh process without an answer.
    """

    ir: str | None = None  # the module's text, for emit="ir"
    code: bytes = b""  # the object, or the assembly in UTF-8
    instructions: int = 0  # of IR, after the passes
    error: str | None = None
    seconds: float = field(default=0.0, compare=False)  # wall time of parsing, passes and emission
    stderr: str = field(default="", compare=False)  # what a fresh process printed; always "" in a thread
    end: End = field(default="ok", compare=False)

    @property
    def died(self) -> bool:
        """Whether a fresh process ended without an answer."""
        return self.end not in ("ok", "failed")


@cache
def initialise_targets() -> None:
    """Make every target of the library available to this process. Later calls do nothing."""
    from llvmlite import binding

    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    binding.initialize_native_asmparser()  # for inline assembly


def unchecked(triple: str, job: Job) -> None:
    """Accept every target."""


def _emit(job: Job, module: ModuleRef, machine: TargetMachine) -> tuple[str | None, bytes]:
    """What the job asks for, by LLVM's printer and its code generator."""
    if job.emit == "object":
        return None, emit(module, machine, as_object=True)
    if job.emit == "assembly":
        text = emit(module, machine, as_object=False).decode(errors="backslashreplace")
        return None, text.encode()
    return str(module) if job.emit == "ir" else None, b""


def compile_unchecked(job: Job, check: CheckTarget = unchecked) -> Result:
    """Compile as `compile_job` does, but for checking the target.

    LLVM prints a message for a processor or feature that it does not know, and may exit, as it does for a
    code model that the target does not have. `check` is called before LLVM sees those that the job names.
    """
    started = time.perf_counter()
    try:
        _check_features(job)
        ir, code, instructions = _compile_anywhere(job, check)
    except OptctxError as error:
        return Result(error=str(error), seconds=time.perf_counter() - started, end="failed")
    return Result(ir, code, instructions, seconds=time.perf_counter() - started)


def pipeline_error(job: Job) -> str:
    """LLVM's error for the text of the job's pipeline; "" if it parses. Runs it on an empty module."""
    # No processor: the job's may belong to the target that its own module names.
    empty = replace(job, ir="", cpu="", features="", code_model="default", emit="none")
    try:
        _compile_anywhere(empty, unchecked)
    except OptctxError as error:  # one of a pass may change with options
        return str(error) if isinstance(error, PassPipelineError) else ""
    return ""


def _compile_anywhere(job: Job, check: CheckTarget) -> tuple[str | None, bytes, int]:
    """(IR, code, number of instructions). Raises OptctxError."""
    if job.llvm:
        return _compile_by_llvm_c(job, check)
    initialise_targets()
    return run_in_task(native_api().image, _compile, job, check)


def _compile(job: Job, check: CheckTarget) -> tuple[str | None, bytes, int]:
    """(IR, code, number of instructions)."""
    from llvmlite import binding

    context = binding.create_context()  # ends with its module: closed first, it would delete that
    with parse_module(job.ir, context) as module, make_target_machine(job, module, check) as machine:
        run_passes(module, job.passes, target_machine=machine)
        instructions = instruction_count(module)  # before emission, which changes the module
        return *_emit(job, module, machine), instructions


def _compile_by_llvm_c(job: Job, check: CheckTarget) -> tuple[str | None, bytes, int]:
    llvm = libllvm.open(job.llvm)
    with llvm.parse(job.ir) as module:
        triple = job.triple or module.triple
        check(triple, job)
        target = job.cpu, job.features, job.opt_level, job.reloc, job.code_model
        with llvm.target_machine(triple, *target) as machine:
            module.take_target(machine)
            llvm.run_passes(module, job.passes, machine)
            instructions = module.instruction_count()
            if job.emit == "object":
                return None, llvm.emit_object(module, machine), instructions
            if job.emit == "assembly":
                return None, llvm.emit_assembly(module, machine).encode(), instructions
            return str(module) if job.emit == "ir" else None, b"", instructions


def parse_module(ir: str | bytes, context: ContextRef) -> ModuleRef:
    """Read a module from text, or from bitcode. Raises OptctxError."""
    from llvmlite import binding

    try:
        if isinstance(ir, bytes):
            return binding.parse_bitcode(ir, context)
        return binding.parse_assembly(ir, context)
    except RuntimeError as error:
        why = clipped(" ".join(str(error).split()))
    finally:
        del context  # what is raised here and below keeps this frame
    raise OptctxError(f"cannot read the module: {why}")


def why_passes_skip(job: Job, *, partly: bool = False) -> str:
    """Say why passes skip every function of a job's module, and what to do; "" if they do not.

    `partly`: also say how many functions they skip, if not all. Raises OptctxError for a module that LLVM
    cannot read.
    """
    found = _optnone(job)
    skipped = sum(found)
    if not found:
        return "no function has a body: there is nothing to compile"
    if skipped == len(found):
        return ALL_OPTNONE
    are, them = ("is", "it") if skipped == 1 else ("are", "them")
    some = f"{skipped} of {counted(len(found), 'function')} {are} optnone: passes skip {them}"
    return some if partly and skipped else ""


def _optnone(job: Job) -> list[bool]:
    """Say of each function with a body whether passes skip it."""
    if job.llvm:
        with libllvm.open(job.llvm).parse(job.ir) as own:
            return own.optnone()
    from llvmlite import binding

    with parse_module(job.ir, binding.create_context()) as module:
        attributes = (b" ".join(each.attributes) for each in module.functions if not each.is_declaration)
        return [b"optnone" in re.sub(rb'"[^"]*"', b"", each).split() for each in attributes]


def make_target_machine(job: Job, module: ModuleRef, check: CheckTarget) -> TargetMachine:
    """Make a target machine for the job. Gives the module that machine's triple and data layout."""
    from llvmlite import binding

    if job.opt_level not in range(4):
        raise OptctxError(f"the code generator's optimisation level is 0, 1, 2 or 3, found {job.opt_level}")
    triple = job.triple or module.triple or binding.get_process_triple()
    try:
        target = binding.Target.from_triple(triple)
        check(triple, job)
        machine = target.create_target_machine(
            job.cpu, job.features, opt=job.opt_level, reloc=job.reloc, codemodel=job.code_model
        )
    except RuntimeError as error:
        words = clipped(" ".join(str(error).split()))
        raise OptctxError(f"no target machine for {shown(triple)}: {words}") from None
    module.triple = triple
    module.data_layout = str(machine.target_data)
    return machine


def _check_features(job: Job) -> None:
    """Raise OptctxError for features without a sign."""
    for feature in filter(None, job.features.split(",")):
        if feature[0] not in "+-":  # LLVM would abort
            raise OptctxError(
                f"cannot compile for the features {shown(job.features)}: write +{feature} to turn {feature} "
                f"on, or -{feature} to turn it off"
            )
