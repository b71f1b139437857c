"""Proof of completeness: whoever touches LLVM's own option storage inside a context is seen."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from optctx._native import AuditReport, Role, Seen, demangle, start_audit, stop_audit
from optctx.engine.attach import Engine, attach
from optctx.errors import AuditError

__all__ = ["Access", "Audit", "audit"]


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

    def __str__(self) -> str:
        """One line, for reports."""
        verb = "writes" if self.write else "reads"
        times = f", {self.count} times" if self.count > 1 else ""
        where = self.function or "code outside every function"
        return f"{where} at {self.instruction:#x} {verb} {self.option} at {self.address:#x}{times}"


@dataclass
class Audit:
    """What an audit saw; filled in when its block ends.

    `neighbours` counts accesses to other storage on the same pages, `entitled` those to options by threads
    whose own storage LLVM's is (no context), and by optctx itself; `steps` those that took a single step.
    """

    accesses: list[Access] = field(default_factory=list)
    neighbours: int = 0
    entitled: int = 0
    steps: int = 0
    regions: int = 0
    pages: int = 0


@contextmanager
def audit() -> Iterator[Audit]:
    """Watches every access to LLVM's own option storage until the block ends; yields what was seen.

    Reaches every thread, and slows down whatever touches the pages that hold options. Use it with one
    compiling thread: while an access of one thread is let through, what another does on the same page is not
    seen. System calls that are given addresses on those pages fail with EFAULT meanwhile.

    Raises AuditError, with nothing changed, while another audit is on or where pages cannot be protected; at
    the end of the block, with everything put back, if accesses may have been missed.
    """
    engine = attach()
    if not engine.way.intercepts:
        raise AuditError(
            f"cannot start an audit: threads take turns at LLVM's own storage in this process "
            f"({engine.choice.reason}), so every access goes there"
        )
    try:
        start_audit(engine.space)
    except RuntimeError as error:
        raise AuditError(f"cannot start an audit: {error}; nothing was changed") from error
    seen = Audit()
    try:
        yield seen
    finally:
        report = stop_audit()
        _fill(seen, engine, report)
    if not report.complete:
        raise AuditError(
            "the audit may have missed accesses: they were too many, or a page could not be protected again"
        )


def _fill(audit: Audit, engine: Engine, report: AuditReport) -> None:
    audit.accesses = [_access(engine, seen) for seen in report.seen]
    audit.neighbours, audit.entitled = report.neighbours, report.entitled
    audit.steps = report.steps
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
    return next(
        option.record.name
        for option in engine.plan.options.values()
        if slot in (option.slot, option.variable_slot)
    )
