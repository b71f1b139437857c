"""Every proposed way of giving options to a compilation, side by side behind one interface."""

from evidence.strategies.choosing import STRATEGIES, open_strategy
from evidence.strategies.strategy import Strategy

__all__ = ["STRATEGIES", "Strategy", "open_strategy"]
