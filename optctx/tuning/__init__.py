"""Search spaces of option values and pipelines for the best compilation. Needs Optuna (`optctx[tune]`)."""

from optctx.tuning.budget import Budget
from optctx.tuning.measured import Callgrind, Command, RunTime
from optctx.tuning.objectives import CompilationTime, Function, Instructions, Objective, Size, objective_named
from optctx.tuning.propose import propose
from optctx.tuning.results import Goal, Study, Trial
from optctx.tuning.space import Dimension, Space, parse_space
from optctx.tuning.tuning import Tuning, tune
from optctx.tuning.values import Choices, Floats, Integers

__all__ = [
    "Budget",
    "Callgrind",
    "Choices",
    "Command",
    "CompilationTime",
    "Dimension",
    "Floats",
    "Function",
    "Goal",
    "Instructions",
    "Integers",
    "Objective",
    "RunTime",
    "Size",
    "Space",
    "Study",
    "Trial",
    "Tuning",
    "objective_named",
    "parse_space",
    "propose",
    "tune",
]
