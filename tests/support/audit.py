"""Proof of completeness: every access to LLVM's own option storage inside a context is seen."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from optctx._native import AuditBase, AuditReport, Role, Seen, Space, demangle
from optctx.engine.attach import attach
from optctx.engine.engine import Engine
from optctx.errors import OptctxError
from optctx.image.loaded import Image


class AuditError(OptctxError, RuntimeError):
    """An audit could not start, with nothing changed, or may have missed accesses."""


@dataclass(frozen=True)
class Access:
    """An instruction that touched LLVM's own storage of an option although the thread had storage of its own.

    `option`: its name, or for storage beside the options the symbol.
    """

    function: str  # demangled; "" outside the library's functions
    option: str
    instruction: int  # address of it
    address: int  # of the data, at the first time
    write: bool
    count: int


@dataclass
class Audit:
    """What an audit saw; filled in when its block ends.

    `neighbours` counts accesses to other storage on the same pages, `entitled` those to options by threads
    whose own storage LLVM's is (no context), and by optctx itself.
    """

    accesses: list[Access] = field(default_factory=list)
    neighbours: int = 0
    entitled: int = 0
    regions: int = 0
    pages: int = 0


class AuditBlock(AuditBase):
    """The block that `audit()` returns. Starting and ending the audit are one native step each."""

    _engine: Engine | None = None
    image: Image | None = None
    _space: Space
    _audit: Audit

    if TYPE_CHECKING:

        def __enter__(self) -> Audit: ...

    def _prepare(self) -> Audit:
        """Called by `__enter__`: everything but the start."""
        if self._engine is not None:
            raise AuditError("cannot enter this audit again: it was entered before; call audit() again")
        engine = attach(self.image)
        self._engine, self._space, self._audit = engine, engine.space, Audit()
        return self._audit

    def _cannot_start(self, why: str) -> AuditError:
        self._engine = None
        return AuditError(f"cannot start an audit: {why}; nothing was changed")

    def _cannot_stop(self) -> AuditError:
        return AuditError("cannot end the audit: it is not on")

    def _finish(self, report: AuditReport, failed: bool) -> None:
        """Called by `__exit__`, when the audit has ended."""
        assert self._engine is not None
        _fill(self._audit, self._engine, report)
        if not report.complete and not failed:
            raise AuditError(
                "the audit may have missed accesses: they were too many, or a page could not be protected "
                "again"
            )


def audit(image: Image | None = None) -> AuditBlock:
    """Watches every access to an LLVM's own option storage until the block ends; `with` gives what was seen.

    Reaches every thread, and slows down whatever touches the pages that hold options. Use it with one
    compiling thread: while an access of one thread is let through, what another does on the same page is not
    seen. System calls that are given addresses on those pages fail with EFAULT during an audit.

    Raises AuditError, with nothing changed, while another audit is on or where pages cannot be protected; at
    the end of the block, with everything put back, if accesses may have been missed.
    """
    block = AuditBlock()
    block.image = image
    return block


def _fill(audit: Audit, engine: Engine, report: AuditReport) -> None:
    audit.accesses = [_access(engine, seen) for seen in report.seen]
    audit.neighbours, audit.entitled = report.neighbours, report.entitled
    audit.regions, audit.pages = report.regions, report.pages


def _access(engine: Engine, seen: Seen) -> Access:
    image = engine.image
    function = image.function_at(seen.instruction) if image.contains(seen.instruction) else None
    name = demangle(function.name) if function is not None else ""
    option = _option_name(engine, seen.slot)
    return Access(name, option, seen.instruction, seen.address, seen.write, seen.count)


def _option_name(engine: Engine, slot: int) -> str:
    region = engine.plan.regions[slot]
    if region.role == Role.state:
        symbol = engine.image.object_at(region.live)
        return demangle(symbol.name) if symbol is not None else f"{region.live:#x}"
    return engine.plan.owners[slot].name
