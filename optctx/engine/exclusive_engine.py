"""The mechanism "exclusive": no code is changed; threads take turns at LLVM's own storage."""

from __future__ import annotations

from typing import Any

from optctx._native import Context, GateError, Image, Space, set_attached, set_detached, take_turns
from optctx.engine.mechanism import Clock, Mechanism, Users
from optctx.errors import ScopeError, UnsupportedImageError
from optctx.image.loaded import image_index
from optctx.image.storage_beside import find_reporting, find_stream_table
from optctx.image.survey import Survey
from optctx.plan.plan import plan_in_place
from optctx.plan.ways_in import add_occurrence_of, setter_tables

__all__ = ["TakingTurns"]


class TakingTurns(Mechanism):
    """Works wherever the library's layout checks out."""

    name = "exclusive"

    def __init__(self, image: Image, survey: Survey, clock: Clock) -> None:
        """Raises UnsupportedImageError if the library does not check out."""
        stream, handler, data = find_reporting(image)
        table = find_stream_table(image, stream)
        self.index = image_index(image)
        self._path = image.path
        self.plan = plan_in_place(image, survey)
        try:
            self.space = Space.in_place(
                self.index,
                self.plan.regions,
                self.plan.set_default,
                add_occurrence_of(image),
                (stream.address, handler.address, data.address),
                table.size,
                table.write_index,
            )
        except RuntimeError as error:
            raise UnsupportedImageError(f"{image.path}: {error}; nothing was changed") from error
        self.setters = setter_tables(image, self.index)
        clock.lap("storage")

    def attach(self) -> None:
        try:
            take_turns(self.index)
        except GateError as error:  # this thread is inside a context of another image
            raise ScopeError(
                f"cannot attach to the LLVM of {self._path}: {error}; leave that first"
            ) from error
        set_attached(self.index)

    def detach(self) -> Users:
        """Nothing was changed outside of scopes."""
        return Users(*set_detached(self.index))

    def process_wide(self) -> Context | None:
        return Context.make(self.space, self.space.drift(), [])

    def report(self) -> dict[str, Any]:
        return {"sites": {"redirected": 0}, "sites_refused": {}}
