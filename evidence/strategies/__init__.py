"""Every proposed way of giving options to a compilation, side by side behind one interface."""

from __future__ import annotations

from typing import Final

from evidence.strategies.library_options import LibraryDefaultsStrategy, LibraryOptionsStrategy
from evidence.strategies.locks import OnceStrategy, TritonStrategy, XlaStrategy
from evidence.strategies.processes import ForkServerStrategy
from evidence.strategies.save_restore import SaveRestoreStrategy
from evidence.strategies.scoped import LlvmContextStrategy, ThreadStrategy
from evidence.strategies.source import SourceStrategy
from evidence.strategies.strategy import Strategy

__all__ = ["STRATEGIES", "Strategy", "open_strategy"]

STRATEGIES: Final[dict[str, type[Strategy]]] = {
    each.name: each
    for each in (
        ThreadStrategy,
        LlvmContextStrategy,
        LibraryOptionsStrategy,
        LibraryDefaultsStrategy,
        SaveRestoreStrategy,
        XlaStrategy,
        TritonStrategy,
        OnceStrategy,
        ForkServerStrategy,
    )
}


def open_strategy(name: str, llvm: str = "") -> Strategy:
    """A strategy that is not entered yet. `name`: one of `STRATEGIES`, or "source". `llvm`: as in `Job`."""
    strategy = SourceStrategy() if name == SourceStrategy.name else STRATEGIES[name]()
    strategy.llvm = llvm
    return strategy
