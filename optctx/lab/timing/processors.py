"""Which processors there are, what makes times on them vary, and a lock for each.

Two measurements never share a processor. The lock is the kernel's: an abstract address of a Unix socket. It
is free again when the process that bound it ends, however it ends. A child of fork does not have it.
"""

from __future__ import annotations

import errno
import functools
import os
import platform
import socket
import struct
import time
import weakref
from dataclasses import dataclass
from typing import Any

from optctx.errors import EndedEarlyError, OptctxError

_SYSTEM = "/sys/devices/system/cpu"
_MOST = 4096  # bytes of a file of the system
_STEP = 0.02  # seconds between two tries
_PEER = struct.Struct("=iII")  # struct ucred: process, user, group


@dataclass(frozen=True)
class Conditions:
    """Of one processor while it was measured on. None: the system does not say. `processor`: -1 where it may
    be any, and the others are those of one that is like them.

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

    def __str__(self) -> str:
        turbo = {None: "unknown", True: "on", False: "off"}[self.turbo]
        isolated = {None: "isolated unknown", True: "isolated", False: "not isolated"}[self.isolated]
        shared = "siblings unknown" if self.siblings is None else "no sibling"
        if self.siblings:
            shared = f"shares its core with {', '.join(map(str, self.siblings))}"
        processor = f"processor {self.processor}" if self.processor >= 0 else "any processor"
        load = "unknown" if self.load is None else f"{self.load:.1f}"
        return (
            f"{processor}, {isolated}, {shared}; governor {self.governor or 'unknown'}; "
            f"turbo {turbo}; load {load}"
        )


def conditions(processor: int, system: str = _SYSTEM) -> Conditions:
    """Read the conditions of a processor. `system`: the folder in which Linux describes processors."""
    own = f"{system}/cpu{processor}"
    no_turbo, boost = _read(f"{system}/intel_pstate/no_turbo"), _read(f"{system}/cpufreq/boost")
    turbo = {"0": True, "1": False}.get(no_turbo or "", {"0": False, "1": True}.get(boost or ""))
    isolated, siblings = _listed(f"{system}/isolated"), _listed(f"{own}/topology/thread_siblings_list")
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


def machine() -> dict[str, Any]:
    """The machine that figures come from, of JSON's types."""
    return {
        "processor": processor_model(),
        "processors": os.cpu_count() or 1,
        "system": f"{platform.system()} {platform.release()}",
        "machine": platform.machine(),
        "conditions": str(conditions(processors()[0])),
    }


@functools.cache  # the file has a page for each processor, and every task tells the model
def processor_model() -> str:
    """What the processor calls itself."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine()


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


def processors() -> list[int]:
    """The numbers of the processors that this process may use, those first on which to measure.

    Isolated ones come first and processor 0 last, because it serves the interrupts of most machines.
    """
    isolated = isolated_processors()
    return sorted(os.sched_getaffinity(0), key=lambda number: (number not in isolated, -number))


class ProcessorLock:
    """A processor that no other process of this machine measures on. A context manager, to be entered once.

    `number`: None takes the first of `processors()` that is free. `patience`: seconds to wait for it. It does
    not move this process to the processor. Entering raises EndedEarlyError if the processor stays taken, and
    OptctxError if it is none that this process may use. Processes in other network namespaces (containers)
    have locks of their own.
    """

    def __init__(self, number: int | None = None, patience: float = 600.0) -> None:
        self._wanted = number
        self._patience = patience
        self._socket: socket.socket | None = None
        self.number = -1

    def __enter__(self) -> ProcessorLock:
        allowed = processors()
        if self._wanted is not None and self._wanted not in allowed:
            may = ", ".join(map(str, sorted(allowed)))
            raise OptctxError(f"cannot measure on processor {self._wanted}: this process may use {may}")
        numbers = [self._wanted] if self._wanted is not None else allowed
        deadline = time.monotonic() + self._patience
        while not any(map(self._try, numbers)):
            if time.monotonic() >= deadline:
                which = f"processor {numbers[0]} is taken{_owner(numbers[0])}"
                raise EndedEarlyError(
                    f"cannot measure: {'every processor is taken' if len(numbers) > 1 else which} for longer "
                    f"than {self._patience:g} s; wait for the other measurement"
                )
            time.sleep(_STEP)
        return self

    def __exit__(self, *error: object) -> None:
        """Release the processor. Also in a child of fork, where the lock stays the parent's."""
        held, self._socket = self._socket, None
        if held is not None:
            held.close()

    def _try(self, number: int) -> bool:
        try:
            held = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                held.bind(_address(number))
                held.listen()  # a process that waits asks it whose it is
            except BaseException:
                held.close()
                raise
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                return False
            raise OptctxError(f"cannot lock a processor: {error.strerror}") from None
        self._socket, self.number = held, number
        _held.add(self)
        return True


_held: weakref.WeakSet[ProcessorLock] = weakref.WeakSet()


def _leave_to_parent() -> None:
    for lock in list(_held):
        lock.__exit__()


os.register_at_fork(after_in_child=_leave_to_parent)


def _address(number: int) -> str:
    return f"\0optctx-processor-{number}"


def _owner(number: int) -> str:
    """Which process measures on a processor, as the kernel says."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
            asking.setblocking(False)
            asking.connect(_address(number))
            peer = asking.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size)
            process, user, _ = _PEER.unpack(peer)
    except OSError:
        return ""
    return f" by process {process}" if user == os.geteuid() else f" by process {process} of user {user}"
