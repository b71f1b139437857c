"""What audits of the real library need, in processes of their own."""

from __future__ import annotations

import pathlib
import signal
from collections.abc import Callable, Sequence

from optctx._native import Site, Transaction
from optctx.engine.attach import attach
from optctx.engine.engine import Engine, _trampolines
from tests.support.processes import handler_of


def page_table() -> list[tuple[int, int, str]]:
    """(begin, end, protection) of the library's pages and of what follows them."""
    regions = [region.live for region in attach().plan.regions if region.scoped and not region.shared]
    found = []
    for line in pathlib.Path("/proc/self/maps").read_text().splitlines():
        begin, end = (int(word, 16) for word in line.split()[0].split("-"))
        if begin <= max(regions) and end > min(regions):
            found.append((begin, end, line.split()[1]))
    return found


def attach_without(choose: Callable[[Engine], Sequence[Site]]) -> tuple[Engine, Sequence[Site]]:
    """Attach, but leave the instructions alone that `choose` takes from the plan; those as well."""
    engine = attach()
    missed = choose(engine)
    left_alone = {site.address for site in missed}
    code = [part for part in _trampolines(engine.image, engine.plan) if part[0] not in left_alone]
    engine.transaction.undo()
    engine.transaction = Transaction(code, engine.image.text_begin, engine.image.text_end)
    engine.transaction.commit()
    return engine, missed


def handlers() -> list[tuple[bytes, int]]:
    """Of the two signals."""
    return [handler_of(number) for number in (signal.SIGSEGV, signal.SIGTRAP)]
