"""A copy of the library for each set of options, loaded under a name of its own."""

from __future__ import annotations

import time
from collections import OrderedDict
from dataclasses import replace

from evidence.strategies.library_copy import LibraryCopy, Target
from evidence.strategies.strategy import Strategy
from optctx.compiling import Job, Result
from optctx.errors import OptctxError
from optctx.locks import lock_left_behind

_KEPT = 4  # copies that nothing uses


class PrivateCopyStrategy(Strategy):
    """Load LLVM anew for a set of options, parse them there, and compile there. Copies are pooled.

    The last few copies that are not in use stay loaded; those before them are unloaded.
    """

    name = "private-copy"
    large = True
    source = "tvm-rfcs#83, the alternative of a library that is loaded for one compilation (A1, A0)"

    def __init__(self, kept: int = _KEPT) -> None:
        """`kept`: copies that stay loaded although nothing uses them."""
        super().__init__()
        self._kept = kept
        self._lock = lock_left_behind()
        self._copies: OrderedDict[tuple[str, ...], tuple[LibraryCopy, int]] = OrderedDict()  # with its users

    def __exit__(self, *error: object) -> None:
        with self._lock:
            for options in [options for options, (_, users) in self._copies.items() if not users]:
                self._copies.pop(options)[0].close()

    @property
    def loaded(self) -> int:
        """How many copies are loaded."""
        return len(self._copies)

    def _enter(self, inside: tuple[str, ...], own: tuple[str, ...]) -> tuple[tuple[str, ...], LibraryCopy]:
        with self._lock:
            copy, users = self._copies.get(inside) or (LibraryCopy(inside), 0)
            self._copies[inside] = copy, users + 1
            self._copies.move_to_end(inside)
        return inside, copy

    def _leave(self, kept: tuple[tuple[str, ...], LibraryCopy]) -> None:
        inside, copy = kept
        with self._lock:
            self._copies[inside] = copy, self._copies[inside][1] - 1
            unused = [options for options, (_, users) in self._copies.items() if not users]
            for options in unused[: -self._kept or None]:
                self._copies.pop(options)[0].close()

    def _compile(self, job: Job) -> Result:
        copy: LibraryCopy = self._held[1]
        started = time.perf_counter()

        def target(triple: str) -> Target:
            return replace(job, triple=job.triple or triple or get_process_triple()).target.values()

        from llvmlite.binding import get_process_triple

        try:
            found = copy.compile_for(job.ir, job.passes, target, job.emit)
        except OptctxError as error:
            return Result(error=str(error), seconds=time.perf_counter() - started)
        return Result(*found, seconds=time.perf_counter() - started)
