"""Which options a context may set."""

from __future__ import annotations

from optctx.engine.attach import Engine
from optctx.engine.plan import PlannedOption
from optctx.errors import ProcessWideOptionError
from optctx.registry.registry import find

__all__ = ["scopable"]


def scopable(engine: Engine, name: str) -> PlannedOption:
    """The option called `name`, or the one that an alias stands for.

    Raises UnknownOptionError, and ProcessWideOptionError with the reason for an option that cannot be scoped.
    """
    option = engine.resolve(find(engine, name))
    if option.scope == "process" or option.slot is None:
        raise ProcessWideOptionError(
            f"cannot set {name!r} for one thread: {option.reason}; set it process-wide with "
            f"llvmlite.binding.set_option before compiling, or leave it out",
            name,
            option.reason,
        )
    return option
