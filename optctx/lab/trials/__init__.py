"""What became of each compilation of an experiment, for tables, files and programs."""

from optctx.lab.trials.trial import STATES, State, Trial

__all__ = ["STATES", "State", "Trial"]
