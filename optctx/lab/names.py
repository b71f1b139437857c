"""The error for a name that is none of those that are known."""

from __future__ import annotations

from collections.abc import Iterable

from optctx.errors import OptctxError, shown
from optctx.wording import did_you_mean, nearest

__all__ = ["no_such"]


def no_such(what: str, name: str, known: Iterable[str]) -> OptctxError:
    """Says what may have been meant, or all that there is."""
    listed = list(known)
    hint = did_you_mean(nearest(name, listed)) or f"expected one of {', '.join(listed)}"
    return OptctxError(f"there is no {what} {shown(name)}; {hint}")
