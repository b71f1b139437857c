"""Process-wide changes of options: which options have drifted, and which code changes them."""

from optctx.drifting.drift import Drift, DriftEvent, Drifts, drift
from optctx.drifting.watch import Watcher, watch

__all__ = ["Drift", "DriftEvent", "Drifts", "Watcher", "drift", "watch"]
