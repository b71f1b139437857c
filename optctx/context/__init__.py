"""N1 and N2: contexts of option values, and the scopes that bind them to a thread."""

from optctx.context.context import OptionContext, current

__all__ = ["OptionContext", "current"]
