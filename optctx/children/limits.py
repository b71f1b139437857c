"""What a child may take. Never more than this process was given itself (`ulimit`, a batch system)."""

from __future__ import annotations

import os
import resource

import msgspec

_SPARE = 5  # seconds of processor time, beyond what a call may take on every processor


class Limits(msgspec.Struct, frozen=True, array_like=True):
    """None is no limit."""

    seconds: float | None = None
    """Wall time of a call, from its start."""
    memory: int | None = None
    """Bytes of address space beyond the server's."""
    processor: int | None = None
    """The number of the only processor that it runs on."""
    files: int | None = None
    """Bytes of a file that it writes."""

    def apply(self) -> None:
        """Limit this process, a child."""
        if self.seconds is not None:  # if the server dies first, nothing else stops a call that never ends
            lower_limit(resource.RLIMIT_CPU, int(self.seconds) * (os.cpu_count() or 1) + _SPARE)
        if self.memory is not None:
            lower_limit(resource.RLIMIT_AS, address_space() + self.memory)
        if self.files is not None:
            lower_limit(resource.RLIMIT_FSIZE, self.files)
        if self.processor is not None:
            os.sched_setaffinity(0, {self.processor})


def lower_limit(kind: int, most: int) -> None:
    """Lower a limit of this process to `most`. One that is lower already stays: raising it is forbidden."""
    soft, hard = (
        most if limit == resource.RLIM_INFINITY else min(limit, most) for limit in resource.getrlimit(kind)
    )
    resource.setrlimit(kind, (soft, hard))


def address_space() -> int:
    """The size of this process's address space, in bytes."""
    with open("/proc/self/statm", encoding="ascii") as statm:
        return int(statm.read().split()[0]) * resource.getpagesize()
