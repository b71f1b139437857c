"""N1 and N2: contexts of option values, and the scopes that bind them to a thread."""

from optctx.context.context import OptionContext
from optctx.context.lookups import bound, contained, current, lookup, process_wide_values, tool
from optctx.travelling.attributes import attach, detach
from optctx.travelling.bindings import unbind
from optctx.values.texts import needs_value

__all__ = [
    "OptionContext",
    "attach",
    "bound",
    "contained",
    "current",
    "detach",
    "lookup",
    "needs_value",
    "process_wide_values",
    "tool",
    "unbind",
]
