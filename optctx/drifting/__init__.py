"""Process-wide changes of options: which options have drifted, and which code sets them."""

from optctx.drifting.drift import Drift, Drifts, drift
from optctx.drifting.watch import DriftEvent, Watcher, watch

__all__ = ["Drift", "DriftEvent", "Drifts", "Watcher", "drift", "watch"]
