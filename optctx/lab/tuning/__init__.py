"""Search spaces of option values for the best compilation. Needs Optuna (`optctx[tune]`)."""

from optctx.lab.tuning.objectives import Command, RunTime
from optctx.lab.tuning.propose import propose
from optctx.lab.tuning.tuning import Search, Tuned, tune

__all__ = [
    "Command",
    "RunTime",
    "Search",
    "Tuned",
    "propose",
    "tune",
]
