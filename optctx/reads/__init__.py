"""What LLVM read: `record`, the fingerprint of what was read, and overrides that were not."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from optctx.reads.log import Log, Read, Unread
    from optctx.reads.readers import reader_index
    from optctx.reads.recording import record

__all__ = [
    "Log",
    "Read",
    "Unread",
    "reader_index",
    "record",
]

# Imported on demand, because contexts need `unread` of this package, and most processes record nothing.
_NOT_IN_LOG = {"reader_index": "readers", "record": "recording"}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Import a name of `__all__` on first use."""
        from importlib import import_module

        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module = import_module(f"{__name__}.{_NOT_IN_LOG.get(name, 'log')}")
        return globals().setdefault(name, getattr(module, name))
