"""x86-64: implements `optctx.arch.processor.Processor`."""

from optctx.arch.x86_64.decoder import decoder
from optctx.arch.x86_64.intercepting import (
    branch_to,
    entrance_code,
    find_branches,
    find_entrance,
    passing_thunk,
    thunk,
)
from optctx.arch.x86_64.sites import (
    Tactic,
    access_at,
    calls,
    find_accesses,
    find_references_to,
    find_sites,
    find_targets,
    saves_scratch,
    trampoline_size,
)

__all__ = [
    "access_at",
    "branch_to",
    "calls",
    "decoder_name",
    "decoder_packages",
    "entrance_code",
    "find_accesses",
    "find_branches",
    "find_entrance",
    "find_references_to",
    "find_sites",
    "find_targets",
    "name",
    "passing_thunk",
    "saves_scratch",
    "tactic_name",
    "thunk",
    "trampoline_size",
]

name = "x86_64"
decoder_packages = ("capstone",)


def decoder_name() -> str:
    """See `Processor`."""
    return decoder().name


def tactic_name(tactic: int) -> str:
    """See `Processor`."""
    return Tactic(tactic).name.lower()
