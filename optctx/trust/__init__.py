"""What an option may do besides changing code, and which options a module may therefore set."""

from optctx.trust.judgements import CLASSES, Judgement, TrustClass, judgement_of
from optctx.trust.policy import TUNING, Trust, trusting

__all__ = ["CLASSES", "TUNING", "Judgement", "Trust", "TrustClass", "judgement_of", "trusting"]
