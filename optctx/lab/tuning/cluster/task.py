"""What a worker does: it attaches on its own, shows that it has the same LLVM, and only then works."""

from __future__ import annotations

import contextlib
import functools
import os
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from optctx.errors import OptctxError
from optctx.lab.tuning.identity import versions
from optctx.lab.tuning.machine import processor_model

__all__ = ["Expected", "Mismatch", "Reply", "Work", "perform", "perform_all"]

_LONGEST_PAUSE = 1.0  # seconds
_AHEAD = 1  # works of a parcel that are foreseen: what is asked of a helper has to fit into a pipe


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

    `error`: of an OptctxError that the work raised; "" for none. `seconds`: of the work.
    """

    worker: str  # host and process
    processor: str  # its model
    value: Any = None
    mismatches: tuple[Mismatch, ...] = ()
    error: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class Work:
    """A function of a module, and its arguments, all of which can be pickled.

    `refusals`: how often workers have refused this work. `number`: another one each time, so no scheduler
    takes two tries for one. `foresee`: a function to call with the same arguments some time before, or None.
    """

    refusals: int
    number: int
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    foresee: Callable[..., None] | None = None


def perform(expected: Expected, work: Work, following: Sequence[Work] = ()) -> Reply:
    """Do the work, on a worker that has what is expected. Plain data in and out.

    `following`: what it will do after that.
    """
    worker, processor = f"{platform.node()}, process {os.getpid()}", processor_model()
    if mismatches := _mismatches(expected, processor):
        # One that does nothing is always free, and would be given everything.
        time.sleep(min(_LONGEST_PAUSE, 0.05 * 2 ** min(work.refusals, 10)))
        return Reply(worker, processor, mismatches=mismatches)
    began = time.monotonic()
    for each in (work, *following):
        if each.foresee is not None:
            with contextlib.suppress(OptctxError):  # which the work itself will raise
                each.foresee(*each.arguments)
    try:
        value = work.function(*work.arguments)
    except OptctxError as error:
        return Reply(worker, processor, error=str(error), seconds=time.monotonic() - began)
    return Reply(worker, processor, value, seconds=time.monotonic() - began)


def perform_all(expected: Expected, works: Sequence[Work]) -> list[Reply]:
    """The replies to several works, in turn. A worker that refuses one is asked for no other."""
    replies: list[Reply] = []
    for place, work in enumerate(works):
        replies.append(perform(expected, work, works[place + 1 : place + 1 + _AHEAD]))
        if replies[-1].mismatches:
            return replies[-1:] * len(works)
    return replies


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
