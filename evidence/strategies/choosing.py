"""The strategies by name."""

from __future__ import annotations

from typing import Final

from evidence.strategies.copies import PrivateCopyStrategy
from evidence.strategies.library_options import LibraryDefaultsStrategy, LibraryOptionsStrategy
from evidence.strategies.locked import ComgrStrategy, XlaStrategy
from evidence.strategies.once import OnceStrategy
from evidence.strategies.processes import ColdProcessStrategy, ForkServerStrategy, WarmProcessStrategy
from evidence.strategies.save_restore import SaveRestoreStrategy
from evidence.strategies.scoped import LlvmContextStrategy, ThreadStrategy
from evidence.strategies.strategy import Strategy
from evidence.strategies.tools import CommandLineStrategy
from evidence.strategies.triton import TritonStrategy
from optctx.errors import OptctxError, shown
from optctx.wording import did_you_mean, nearest

__all__ = ["STRATEGIES", "open_strategy"]

STRATEGIES: Final[dict[str, type[Strategy]]] = {
    each.name: each
    for each in (
        ThreadStrategy,
        LlvmContextStrategy,
        LibraryOptionsStrategy,
        LibraryDefaultsStrategy,
        SaveRestoreStrategy,
        XlaStrategy,
        ComgrStrategy,
        TritonStrategy,
        OnceStrategy,
        PrivateCopyStrategy,
        WarmProcessStrategy,
        ForkServerStrategy,
        ColdProcessStrategy,
        CommandLineStrategy,
    )
}


def open_strategy(name: str) -> Strategy:
    """A strategy that is not entered yet. Raises OptctxError for a name that is none of `STRATEGIES`."""
    found = STRATEGIES.get(name)
    if found is None:
        hint = did_you_mean(nearest(name, STRATEGIES)) or f"there are {', '.join(STRATEGIES)}"
        raise OptctxError(f"no strategy is called {shown(name)}; {hint}")
    return found()
