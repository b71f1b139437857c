"""Emits equal modules once: the code generator takes as long as the passes do, or longer."""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from optctx import OptionContext, registry
from optctx.compiling.job import Job, emit_all, make_target_machine, unchecked
from optctx.errors import OptctxError
from optctx.lab.sweep.by_reads import ByReads
from optctx.process import noting, read_in

if TYPE_CHECKING:
    from llvmlite.binding import ModuleRef, TargetMachine

# With it, bitcode tells in which order the uses of a value are listed, on which passes can depend.
_USES = "preserve-bc-uselistorder"
_LARGEST = 32 << 20  # bytes of objects that are kept, and of what is known of them
_ENTRY = 1000  # bytes of the latter, each


@dataclass(frozen=True)
class Emitted:
    """What emitting a module gave."""

    size: int  # bytes of the object
    digest: str  # of the object
    seconds: float
    code: bytes = b""  # the object, if it is kept


class Emissions:
    """Objects under the modules that they were emitted from, and the options that emitting them read.

    `noted`: the options that differ between compilations, without aliases. `keep`: whether objects are kept,
    or their figures alone. For several threads.
    """

    def __init__(self, noted: tuple[str, ...], keep: bool) -> None:
        self._noted = frozenset(noted)
        self._keep = keep
        self._known: ByReads[Emitted] = ByReads()
        self._left = _LARGEST
        self._tells = _USES in registry() and registry()[_USES].scope == "thread"

    def emit(self, job: Job, module: ModuleRef, machine: TargetMachine, emission: Emission) -> bytes:
        """The object, if need be by LLVM; b"" if its figures alone are known."""
        if not self._tells:  # LLVM before 20 has no such option
            return emit_all(job, module, machine)[1]
        source = _source(job, module)
        found = self._known.find(source, emission.options)
        if found is not None:
            emission.emitted = found[1]
            emission.read, emission.saved = found[0], found[1].seconds
            return found[1].code
        began, quiet = time.perf_counter(), os.fstat(emission.printed).st_size
        # What making a target machine reads counts as well. That of the passes may have been made before, and
        # its subtargets (where optctx has no variants of it: design/target-machines.md).
        with (reading := noting(self._noted)), make_target_machine(job, module, unchecked) as own:
            code = emit_all(job, module, own)[1]
        seconds = time.perf_counter() - began
        # What was printed could not be printed again.
        if os.fstat(emission.printed).st_size == quiet:
            with contextlib.suppress(OptctxError):  # not everything was recorded
                read = read_in(reading)
                kept, digest = code if self._keep else b"", hashlib.sha256(code).hexdigest()
                emission.emitted = Emitted(len(code), digest, seconds, kept)
                if (size := _ENTRY + len(kept)) <= self._left:
                    self._left -= size
                    self._known.add(source, emission.options, read, emission.emitted)
        return code


@dataclass
class Emission:
    """Emits one module, as `compile_unchecked` asks for it. `printed`: a file that gets what LLVM prints.

    `saved`: the seconds that it took the first time, if it was not done now; otherwise 0. `read`: which of
    the noted options it would have read. `emitted`: what it gave, unless another one could not use that.
    """

    emissions: Emissions
    options: Mapping[str, str]
    printed: int
    saved: float = 0.0
    read: frozenset[str] = frozenset()
    emitted: Emitted | None = None

    def __call__(self, job: Job, module: ModuleRef, machine: TargetMachine) -> tuple[str | None, bytes]:
        if job.emit not in ("object", "both"):
            return emit_all(job, module, machine)
        ir = str(module) if job.emit == "both" else None  # before emission, which changes the module
        return ir, self.emissions.emit(replace(job, emit="object"), module, machine, self)


def _source(job: Job, module: ModuleRef) -> bytes:
    """A digest of all that decides a module's code, but for options."""
    return hashlib.sha256(repr(job.target).encode() + digest_of(module)).digest()


def digest_of(module: ModuleRef) -> bytes:
    """Of a module with everything that decides its code (design/tuning.md says what is left out)."""
    with OptionContext({_USES: "true"}):
        return hashlib.sha256(module.as_bitcode()).digest()
