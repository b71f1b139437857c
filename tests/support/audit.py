"""Proof of completeness: every access to LLVM's own option storage inside a context is seen."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from optctx._native import Role, Seen, demangle, start_audit, stop_audit
from optctx.engine.attach import attach
from optctx.engine.engine import Engine
from optctx.image.loaded import Image


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


@contextmanager
def audit(image: Image | None = None) -> Iterator[Audit]:
    """Watch every access to an LLVM's own option storage until the block ends; `with` gives what was seen.

    Reaches every thread, and slows down whatever touches the pages that hold options. Use it with one
    compiling thread: while an access of one thread is let through, what another does on the same page is not
    seen. System calls that are given addresses on those pages fail with EFAULT during an audit, and a thread
    that blocks SIGSEGV ends the process there.
    """
    engine, seen = attach(image), Audit()
    start_audit(engine.space)
    try:
        yield seen
    finally:
        report = stop_audit()
    assert report.complete, "accesses were too many, or a page could not be protected again"
    seen.accesses = [_access(engine, each) for each in report.seen]
    seen.neighbours, seen.entitled = report.neighbours, report.entitled
    seen.regions, seen.pages = report.regions, report.pages


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
