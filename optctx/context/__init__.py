"""N1 and N2: contexts of option values, and the scopes that bind them to a thread."""

from optctx.context.context import OptionContext
from optctx.context.lookups import bound, contained, current, lookup, tool, values_outside
from optctx.travelling.attaching import attach, detach
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
    "tool",
    "unbind",
    "values_outside",
]
