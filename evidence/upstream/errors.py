"""The one exception of the driver."""

from __future__ import annotations

__all__ = ["UpstreamError"]


class UpstreamError(Exception):
    """A step failed; the message says which, why, and what to do."""
