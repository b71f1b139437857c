"""What a worker does: it attaches on its own, shows that it has the same LLVM, and only then works."""

from __future__ import annotations

import functools
import os
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from optctx.errors import OptctxError
from optctx.tuning.identity import versions
from optctx.tuning.machine import processor_model

__all__ = ["Expected", "Mismatch", "Reply", "perform"]

_LONGEST_PAUSE = 1.0  # seconds


@dataclass(frozen=True)
class Expected:
    """What every worker has to have. `processor`: its model, where run times are compared; "" takes any."""

    versions: tuple[tuple[str, str], ...]
    processor: str = ""

    @classmethod
    def here(cls) -> Expected:
        """What this process has. Attaches."""
        return cls(tuple(versions().items()))


@dataclass(frozen=True)
class Mismatch:
    """One thing that a worker has and the search does not, in words."""

    what: str
    expected: str
    found: str

    def __str__(self) -> str:
        return f"{self.what}: expected {self.expected}, found {self.found}"


@dataclass(frozen=True)
class Reply:
    """What a worker sends back. `value` counts if there are no `mismatches` and no `error`.

    `error`: of an OptctxError that the work raised; "" for none.
    """

    worker: str  # host and process
    processor: str  # its model
    value: Any = None
    mismatches: tuple[Mismatch, ...] = ()
    error: str = ""


def perform(
    expected: Expected, refusals: int, number: int, function: Callable[..., Any], *arguments: Any
) -> Reply:
    """Call the function, on a worker that has what is expected. Plain data in and out.

    `refusals`: how often workers have refused this work. `number`: another one each time, so no scheduler
    takes two tries for one.
    """
    worker, processor = f"{platform.node()}, process {os.getpid()}", processor_model()
    if mismatches := _mismatches(expected, processor):
        # One that does nothing is always free, and would be given everything.
        time.sleep(min(_LONGEST_PAUSE, 0.05 * 2 ** min(refusals, 10)))
        return Reply(worker, processor, mismatches=mismatches)
    try:
        return Reply(worker, processor, function(*arguments))
    except OptctxError as error:
        return Reply(worker, processor, error=str(error))


def _mismatches(expected: Expected, processor: str) -> tuple[Mismatch, ...]:
    found = _found()
    names = {"LLVM": "build id of LLVM", "llvmlite": "release of llvmlite", "optctx": "release of optctx"}
    wrong = [
        Mismatch(names[name], text, found[name]) for name, text in expected.versions if found[name] != text
    ]
    if expected.processor and processor != expected.processor:
        wrong.append(Mismatch("processor", expected.processor, processor))
    return tuple(wrong)


@functools.cache
def _found() -> dict[str, str]:
    """What this process has. It attaches now, if nothing has before."""
    try:
        return versions()
    except OptctxError as error:
        why = f"one that optctx cannot attach to ({error})"
        return {"optctx": why, "llvmlite": why, "LLVM": why}
