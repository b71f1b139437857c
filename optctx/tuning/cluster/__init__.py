"""Searches whose work is done in other processes, on this machine or others: by Dask, or by any executor."""

from optctx.tuning.cluster.executor import ExecutorWorkers
from optctx.tuning.cluster.remote import RemoteEvaluator, RemotePlace
from optctx.tuning.cluster.task import Expected
from optctx.tuning.cluster.workers import Workers

__all__ = ["ExecutorWorkers", "Expected", "RemoteEvaluator", "RemotePlace", "Workers"]
