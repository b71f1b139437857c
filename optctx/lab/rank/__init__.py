"""Finds which of the options that LLVM reads change the output, and by how much."""

from optctx.lab.rank.rank import rank
from optctx.lab.rank.ranking import Effect, Estimate, NotTried, Ranking

__all__ = ["Effect", "Estimate", "NotTried", "Ranking", "rank"]
