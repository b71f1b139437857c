"""The kinds of operations, and how often each of them runs."""

from __future__ import annotations

from dataclasses import dataclass

from tests.long.soak import broken, scoping, travelling, whole
from tests.long.soak.actor import Operation

__all__ = ["KINDS", "Kind", "chosen"]


@dataclass(frozen=True)
class Kind:
    """`weight`: relative frequency. `broken`: runs only if it is named, for the tests of the soak itself."""

    operation: Operation
    weight: float = 1.0
    broken: bool = False


KINDS: dict[str, Kind] = {
    "scopes": Kind(scoping.scopes, 3),
    "set-inside": Kind(scoping.set_inside),
    "lookups": Kind(scoping.lookups),
    "exceptions": Kind(scoping.exceptions),
    "generators": Kind(scoping.generators),
    "interleaved": Kind(scoping.interleaved, 0.3),
    "died-inside": Kind(scoping.died_inside, 0.5),
    "wrapped": Kind(scoping.wrapped),
    "pools": Kind(scoping.pools, 0.5),
    "recording": Kind(scoping.recording),
    "unread": Kind(scoping.unread, 0.5),
    "bindings": Kind(travelling.bindings),
    "mismatches": Kind(travelling.mismatches, 0.5),
    "attributes": Kind(travelling.attributes),
    "errors": Kind(travelling.errors),
    "garbage": Kind(travelling.garbage),
    "jit": Kind(travelling.jit, 0.5),
    "links": Kind(travelling.links, 0.5),
    "cached": Kind(travelling.cached),
    "machines": Kind(travelling.machines),
    "attach-cycles": Kind(whole.attach_cycles, 0.2),
    "watching": Kind(whole.watching, 0.3),
    "drifting": Kind(whole.drifting, 0.3),
    "exclusive": Kind(whole.exclusive, 0.3),
    "processes": Kind(whole.processes, 0.02),
    "forks": Kind(whole.forks, 0.3),
    "handlers": Kind(whole.handlers, 2),
    "interrupts": Kind(whole.interrupts, 2),
    "faults": Kind(whole.faults, 0.03),
    "broken-result": Kind(broken.result, broken=True),
    "broken-error": Kind(broken.raises, broken=True),
    "broken-crash": Kind(broken.crash, broken=True),
    "broken-exit": Kind(broken.leave, broken=True),
    "broken-hang": Kind(broken.hang, broken=True),
}


def chosen(*, without: set[str], only: set[str]) -> list[str]:
    """Names of kinds, in order. Raises ValueError for a name that is none."""
    unknown = sorted((without | only) - KINDS.keys())
    if unknown:
        raise ValueError(f"no kind of operation is called {', '.join(unknown)}; there are {', '.join(KINDS)}")
    wanted = only or {name for name, kind in KINDS.items() if not kind.broken}
    return [name for name in KINDS if name in wanted - without]
