"""What an option may do besides changing code, and which options a module may therefore set."""

from optctx.trust.trust import (
    CLASSES,
    TUNING,
    Judgement,
    Trust,
    TrustClass,
    judgement_of,
    read_for_all,
    trusting,
)

__all__ = [
    "CLASSES",
    "TUNING",
    "Judgement",
    "Trust",
    "TrustClass",
    "judgement_of",
    "read_for_all",
    "trusting",
]
