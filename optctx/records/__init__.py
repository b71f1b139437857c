"""What LLVM read: `record`, and the fingerprint of what was read."""

from optctx.records.log import Log, Read, Recorded, Unread, log_as_csv, log_as_json, log_summary, read_cells
from optctx.records.record import record

__all__ = [
    "Log",
    "Read",
    "Recorded",
    "Unread",
    "log_as_csv",
    "log_as_json",
    "log_summary",
    "read_cells",
    "record",
]
