"""One fault in a process of its own: an error of ours or none, and right results afterwards.

    python -m tests.soak.faulty membarrier SEED < answers

A system call filter (seccomp) makes membarrier(2), or mprotect(2) of executable memory, fail from then on.
RLIMIT_AS makes mmap(2) fail. Another thread is there, so that code is changed under it.
"""

from __future__ import annotations

import ctypes
import errno
import pickle
import random
import resource
import struct
import sys
import threading
import warnings
from contextlib import ExitStack

import optctx
from optctx import OptctxError
from optctx.fresh.job import initialise_targets
from tests.soak.actor import Actor, Shared, context_of

__all__ = ["fail_calls"]

_MEMBARRIER, _MPROTECT = 324, 10  # on x86-64
_NO_NEW_PRIVILEGES, _SET_SECCOMP, _FILTER = 38, 22, 2
_LOAD, _EQUAL, _SET, _RETURN = 0x20, 0x15, 0x45, 0x06
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_SYNC_CORE = 1 << 5  # MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE: not the query, and not the registration
_EXECUTE = 4  # PROT_EXEC


def fail_calls(number: int, error: int, argument: int, bits: int) -> None:
    """Have a system call fail if its argument has any of the bits, on this thread and those it starts."""
    program = [
        (_LOAD, 0, 0, 0),
        (_EQUAL, 0, 3, number),
        (_LOAD, 0, 0, 16 + 8 * argument),  # its low half
        (_SET, 0, 1, bits),
        (_RETURN, 0, 0, _ERRNO | error),
        (_RETURN, 0, 0, _ALLOW),
    ]
    instructions = ctypes.create_string_buffer(b"".join(struct.pack("<HBBI", *each) for each in program))
    head = struct.pack("@HP", len(program), ctypes.addressof(instructions))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) or libc.prctl(_SET_SECCOMP, _FILTER, head, 0, 0):
        raise OSError(ctypes.get_errno(), "cannot install a system call filter")


def fail_membarrier() -> None:
    fail_calls(_MEMBARRIER, errno.EPERM, 0, _SYNC_CORE)


def fail_mprotect() -> None:
    fail_calls(_MPROTECT, errno.EACCES, 2, _EXECUTE)


def membarrier(actor: Actor) -> None:
    fail_membarrier()
    attaching(actor)


def mprotect(actor: Actor) -> None:
    fail_mprotect()
    attaching(actor)


def attaching(actor: Actor) -> None:
    """Threads take turns where code cannot be changed, or attaching is refused."""
    try:
        optctx.attach()
    except OptctxError:
        actor.compare(actor.module(), by_optctx=False)
        return
    compiling(actor)


def detaching(actor: Actor) -> None:
    """The fault comes when code has been changed: it stays, or goes, as a whole."""
    optctx.attach()
    compiling(actor)
    actor.rng.choice((fail_membarrier, fail_mprotect))()
    for _ in range(3):
        try:
            optctx.detach()
            optctx.attach()
        except OptctxError:
            pass
        actor.compare(actor.module(), by_optctx=False)
        try:
            with context_of(options := actor.options(), base="defaults"):
                actor.check(options)
        except OptctxError:
            pass


def memory(actor: Actor) -> None:
    """No more memory while contexts are made and entered, on several threads: MemoryError, and no change."""
    optctx.attach()
    compiling(actor)
    before = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm", encoding="ascii") as statm:
        used = int(statm.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + actor.rng.randrange(32 << 20), before[1]))
    try:
        for _ in range(3):
            exhaust(actor)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
    compiling(actor)
    in_thread = threading.Thread(target=compiling, args=(actor,))
    in_thread.start()
    in_thread.join()


def exhaust(actor: Actor) -> None:
    scopes = ExitStack()
    try:
        for number in range(2000):
            scopes.enter_context(context_of({"unroll-count": str(number)}))
    except MemoryError:
        pass
    finally:
        scopes.close()


def compiling(actor: Actor) -> None:
    outer, inner = actor.options(), actor.options()
    actor.check()
    with context_of(outer):
        actor.check(outer)
        with context_of(inner):
            actor.check(outer, inner)
    actor.check()


def main(name: str, seed: str) -> None:
    warnings.simplefilter("ignore", optctx.EngineWarning)
    answers = pickle.loads(sys.stdin.buffer.read())
    initialise_targets()
    actor = Actor(Shared(answers, int(seed)), random.Random(seed))
    threading.Thread(target=threading.Event().wait, daemon=True).start()
    {"membarrier": membarrier, "mprotect": mprotect, "detaching": detaching, "memory": memory}[name](actor)


if __name__ == "__main__":
    main(*sys.argv[1:])
