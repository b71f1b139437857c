"""Search spaces of option values for the best compilation. Needs Optuna (`optctx[tune]`)."""

from optctx.lab.outcome import Limits
from optctx.lab.space import Space, parse_space
from optctx.lab.tuning.objectives import Command, RunTime
from optctx.lab.tuning.propose import propose
from optctx.lab.tuning.tuning import Search, Tuned, tune

__all__ = [
    "Command",
    "Limits",
    "RunTime",
    "Search",
    "Space",
    "Tuned",
    "parse_space",
    "propose",
    "tune",
]
