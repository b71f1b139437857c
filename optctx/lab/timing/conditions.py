"""What of a machine makes times vary: frequency governor, turbo, isolated processors, siblings, load."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["Conditions", "conditions", "isolated_processors"]

_SYSTEM = "/sys/devices/system/cpu"
_MOST = 4096  # bytes of a file of the system


@dataclass(frozen=True)
class Conditions:
    """Of one processor while it was measured on. None: the system does not say.

    `turbo`: whether it may run faster than its nominal frequency, for as long as it stays cool. `isolated`:
    whether the scheduler keeps other processes off it. `siblings`: other processors of the same core.
    `load`: processes that ran or wanted to in the last minute, on average, on all processors.
    """

    processor: int
    governor: str | None = None
    turbo: bool | None = None
    isolated: bool | None = None
    siblings: tuple[int, ...] | None = None
    load: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)

    def __str__(self) -> str:
        turbo = {None: "unknown", True: "on", False: "off"}[self.turbo]
        isolated = {None: "isolated unknown", True: "isolated", False: "not isolated"}[self.isolated]
        shared = "siblings unknown" if self.siblings is None else "no sibling"
        if self.siblings:
            shared = f"shares its core with {', '.join(map(str, self.siblings))}"
        load = "unknown" if self.load is None else f"{self.load:.1f}"
        return (
            f"processor {self.processor}, {isolated}, {shared}; governor {self.governor or 'unknown'}; "
            f"turbo {turbo}; load {load}"
        )


def conditions(processor: int, system: str = _SYSTEM) -> Conditions:
    """Read the conditions of a processor. `system`: the folder in which Linux describes processors."""
    own = f"{system}/cpu{processor}"
    no_turbo, boost = _read(f"{system}/intel_pstate/no_turbo"), _read(f"{system}/cpufreq/boost")
    turbo = {"0": True, "1": False}.get(no_turbo or "", {"0": False, "1": True}.get(boost or ""))
    isolated, siblings = (
        _listed(f"{system}/isolated"),
        _listed(f"{own}/topology/thread_siblings_list"),
    )
    try:
        load = round(os.getloadavg()[0], 2)
    except OSError:
        load = None
    return Conditions(
        processor,
        _read(f"{own}/cpufreq/scaling_governor"),
        turbo,
        None if isolated is None else processor in isolated,
        None if siblings is None else tuple(sorted(siblings - {processor})),
        load,
    )


def isolated_processors(system: str = _SYSTEM) -> frozenset[int]:
    """The processors that the scheduler keeps processes off, unless they ask for one (`isolcpus`)."""
    return _listed(f"{system}/isolated") or frozenset()


def _read(path: str) -> str | None:
    try:
        with open(path, "rb") as file:
            return file.read(_MOST).decode().strip()
    except (OSError, UnicodeDecodeError):
        return None


def _listed(path: str) -> frozenset[int] | None:
    """The numbers in a list such as "0-3,8". None for a file that is missing or holds something else."""
    text, found = _read(path), set[int]()
    try:
        for part in filter(None, (text or "").split(",")):
            low, _, high = part.partition("-")
            found.update(range(int(low), min(int(high or low), int(low) + _MOST) + 1))
    except ValueError:
        return None
    return None if text is None else frozenset(found)
