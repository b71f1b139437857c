"""One fault in a process of its own: an error of ours or none, and right results afterwards.

    python -m tests.long.soak.faulty membarrier SEED < answers

A system call filter (seccomp) makes membarrier(2), mprotect(2) of executable memory, or mremap(2) to a fixed
address fail from then on.
RLIMIT_AS makes mmap(2) fail. Another thread is there, so that code is changed under it.
"""

from __future__ import annotations

import errno
import pickle
import random
import resource
import sys
import threading
import warnings
from contextlib import ExitStack

import optctx
from optctx import OptctxError
from optctx.compiling import initialise_targets
from tests.long.soak.actor import Actor, Shared, context_of
from tests.support.kernel_refusals import refuse

_SYNC_CORE = 1 << 5  # MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE: not the query, and not the registration
_EXECUTE = 4  # PROT_EXEC
_FIXED = 2  # MREMAP_FIXED: how changed code comes into place


def fail_membarrier() -> None:
    refuse("membarrier", errno.EPERM, 0, _SYNC_CORE)


def fail_mprotect() -> None:
    refuse("mprotect", errno.EACCES, 2, _EXECUTE)


def fail_mremap() -> None:
    refuse("mremap", errno.ENOMEM, 3, _FIXED)


def membarrier(actor: Actor) -> None:
    fail_membarrier()
    attaching(actor)


def mprotect(actor: Actor) -> None:
    fail_mprotect()
    attaching(actor)


def mremap(actor: Actor) -> None:
    fail_mremap()
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
    actor.rng.choice((fail_membarrier, fail_mprotect, fail_mremap))()
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
    kinds = (membarrier, mprotect, mremap, detaching, memory)
    {each.__name__: each for each in kinds}[name](actor)


if __name__ == "__main__":
    main(*sys.argv[1:])
