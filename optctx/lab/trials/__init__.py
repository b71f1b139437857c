"""What became of each compilation of an experiment, what they are compared by, and the file of them."""

from optctx.lab.trials.goal import FIGURES, Direction, Goal, best_of, direction_of, figure_of, goal_named
from optctx.lab.trials.identity import identity_of, versions
from optctx.lab.trials.trial import Trial
from optctx.lab.trials.trialfile import Kept, TrialFile, Trials, open_trials, read_trials

__all__ = [
    "FIGURES",
    "Direction",
    "Goal",
    "Kept",
    "Trial",
    "TrialFile",
    "Trials",
    "best_of",
    "direction_of",
    "figure_of",
    "goal_named",
    "identity_of",
    "open_trials",
    "read_trials",
    "versions",
]
