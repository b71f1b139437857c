"""Limits of a process, as batch systems and shells (`ulimit`) set them."""

from __future__ import annotations

import resource

__all__ = ["lower_limit"]


def lower_limit(kind: int, most: int) -> None:
    """Lower a limit of this process to `most`. One that is lower already stays: raising it is forbidden."""
    soft, hard = (
        most if limit == resource.RLIM_INFINITY else min(limit, most) for limit in resource.getrlimit(kind)
    )
    resource.setrlimit(kind, (soft, hard))
