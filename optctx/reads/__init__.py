"""What LLVM read: `record`, the fingerprint of what was read, and overrides that were not."""

from typing import TYPE_CHECKING

from optctx.importing import later

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

if not TYPE_CHECKING:  # on demand, because contexts need `unread` of this package, and most record nothing
    __getattr__, __dir__ = later(
        __name__,
        {
            "optctx.reads.log": ("Log", "Read", "Unread"),
            "optctx.reads.readers": ("reader_index",),
            "optctx.reads.recording": ("record",),
        },
    )
