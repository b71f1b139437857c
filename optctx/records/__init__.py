"""What LLVM read: `record`, and the fingerprint of what was read."""

from optctx.records.log import Log, Read, Unread
from optctx.records.record import record

__all__ = ["Log", "Read", "Unread", "record"]
