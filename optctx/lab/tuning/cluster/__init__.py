"""Searches whose work is done in other processes, on this machine or others: by Dask, or by any executor."""

from optctx.lab.tuning.cluster.executor import ExecutorWorkers
from optctx.lab.tuning.cluster.remote import RemoteEvaluator, RemotePlace
from optctx.lab.tuning.cluster.task import Expected
from optctx.lab.tuning.cluster.workers import Workers

__all__ = ["ExecutorWorkers", "Expected", "RemoteEvaluator", "RemotePlace", "Workers"]
