"""TargetMachines that all jobs of a process share: one for each triple, processor and other property."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from evidence.conformance.job import Job, make_machine

if TYPE_CHECKING:
    from llvmlite.binding import TargetMachine


class SharedMachines:
    """Machines that live as long as the process. The job that comes first makes one, inside its context."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: dict[Job, TargetMachine] = {}

    @contextmanager
    def __call__(self, job: Job, triple: str) -> Iterator[TargetMachine]:
        """Raises OptctxError for a job that LLVM makes no machine for."""
        key = replace(
            job, tool="", path="", passes="", options=(), layout="", as_object=False, where="", triple=triple
        )
        with self._lock:
            machine = self._made.get(key)
            if machine is None:
                machine = self._made[key] = make_machine(job, triple)
        yield machine
