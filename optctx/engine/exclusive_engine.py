"""The engine "exclusive": no code is changed; threads take turns at LLVM's own storage."""

from __future__ import annotations

from typing import Any

from optctx._native import Context, GateError, Space, set_attached, set_detached, take_turns
from optctx.engine.engine import Clock, Engine, Users
from optctx.errors import ScopeError, UnsupportedImageError
from optctx.image.survey import Survey
from optctx.plan.plan import Plan


class ExclusiveEngine(Engine):
    """Works wherever the library's layout checks out."""

    name = "exclusive"
    redirects = False

    def __init__(self, survey: Survey, plan: Plan, clock: Clock) -> None:
        """Raise UnsupportedImageError if the library does not check out."""
        super().__init__(survey, plan)
        image = survey.image
        stream, handler, data = survey.reporting
        try:
            self.space = Space.in_place(
                self.index,
                self.plan.regions,
                self.plan.set_default,
                survey.functions.add_occurrence,
                (stream.address, handler.address, data.address),
                survey.stream_table,
            )
        except RuntimeError as error:
            raise UnsupportedImageError(f"{image.path}: {error}; nothing was changed") from error
        clock.lap("storage")

    def attach(self) -> None:
        try:
            take_turns(self.index)
        except GateError as error:  # this thread is inside a context of another image
            raise ScopeError(
                f"cannot attach to the LLVM of {self.image.path}: {error}; leave that first"
            ) from error
        set_attached(self.index)

    def detach(self) -> Users:
        return Users(*set_detached(self.index))  # outside of scopes nothing was changed

    def covering(self) -> Context | None:
        return Context.make(self.space, self.space.drift(), [])

    def report(self) -> dict[str, Any]:
        return {"sites": {"redirected": 0}, "sites_refused": {}}
