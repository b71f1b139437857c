"""What somebody else has set for the whole process, and who does it at which moment."""

from optctx.drifting.drift import Drift, Drifts, drift
from optctx.drifting.event import DriftEvent
from optctx.drifting.watch import Watcher, watch

__all__ = ["Drift", "DriftEvent", "Drifts", "Watcher", "drift", "watch"]
