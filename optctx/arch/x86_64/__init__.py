"""x86-64."""

from optctx.arch.x86_64.intercepting import (
    branch_to,
    entrance_code,
    find_branches,
    find_entrance,
    only_returns,
    passing_thunk,
    register_of,
    thunk,
)
from optctx.arch.x86_64.sites import Tactic, find_references_to, find_targets

__all__ = [
    "branch_to",
    "decoder_package",
    "entrance_code",
    "find_branches",
    "find_entrance",
    "find_references_to",
    "find_targets",
    "only_returns",
    "passing_thunk",
    "register_of",
    "tactic_name",
    "thunk",
]

decoder_package = "capstone"


def tactic_name(tactic: int) -> str:
    """Return the name of a tactic, for reports."""
    return Tactic(tactic).name.lower()
