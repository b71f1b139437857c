"""The processors whose code can be redirected. `processor()` returns this process's."""

from __future__ import annotations

import platform

from optctx.arch.processor import CannotDecodeError, Processor

__all__ = ["CannotDecodeError", "processor"]


def processor() -> Processor:
    """Return this process's processor. Raises CannotDecodeError if there is no folder for it."""
    machine = platform.machine()
    if machine != "x86_64":
        raise CannotDecodeError(f"this processor is {machine}, and only those of x86_64 are known")
    from optctx.arch import x86_64

    return x86_64
