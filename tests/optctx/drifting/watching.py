"""What callbacks of `watch` are told."""

from __future__ import annotations

from optctx import DriftEvent


def ignore(_event: DriftEvent) -> None:
    """A callback."""


def told(event: DriftEvent) -> tuple[object, ...]:
    return event.name, event.before, event.after, event.exact
