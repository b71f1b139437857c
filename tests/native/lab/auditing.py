"""What audits of the real library need, in processes of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from optctx._native import Site, Transaction
from optctx.engine.attach import attach
from optctx.engine.engine import Engine, _trampolines


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
