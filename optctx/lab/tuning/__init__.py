"""Search spaces of option values and pipelines for the best compilation. Needs Optuna (`optctx[tune]`)."""

from optctx.lab.outcome import Limits
from optctx.lab.space import Choices, Dimension, Integers, Space, parse_space
from optctx.lab.trial import Goal, Trial
from optctx.lab.tuning.objectives import Command, CompilationTime, Instructions, Objective, RunTime, Size
from optctx.lab.tuning.propose import propose
from optctx.lab.tuning.results import Tuned
from optctx.lab.tuning.tuning import Search, tune

__all__ = [
    "Choices",
    "Command",
    "CompilationTime",
    "Dimension",
    "Goal",
    "Instructions",
    "Integers",
    "Limits",
    "Objective",
    "RunTime",
    "Search",
    "Size",
    "Space",
    "Trial",
    "Tuned",
    "parse_space",
    "propose",
    "tune",
]
