"""One fault in a process of its own: an error of ours or none, and right results afterwards.

A system call filter (seccomp) makes membarrier(2), mprotect(2) of executable memory, or mremap(2) to a fixed
address fail from then on. RLIMIT_AS makes mmap(2) fail. Another thread is there, so that code is changed
under it.
"""

from __future__ import annotations

import errno
import random
import resource
import threading
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import optctx
from optctx import OptctxError, OptionContext
from tests.long.soak.actor import Actor, Shared, context_of
from tests.long.soak.answers import Answers
from tests.support.kernel_refusals import refuse

__all__ = ["FAULTS", "run_with_fault"]

_SYNC_CORE = 1 << 5  # MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE: not the query, and not the registration
_EXECUTE = 4  # PROT_EXEC
_FIXED = 2  # MREMAP_FIXED: how changed code comes into place
_REFUSALS: dict[str, Callable[[], None]] = {
    "membarrier": partial(refuse, "membarrier", errno.EPERM, 0, _SYNC_CORE),
    "mprotect": partial(refuse, "mprotect", errno.EACCES, 2, _EXECUTE),
    "mremap": partial(refuse, "mremap", errno.ENOMEM, 3, _FIXED),
}


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
    actor.rng.choice(list(_REFUSALS.values()))()
    for _ in range(3):
        with suppress(OptctxError):
            optctx.detach()
            optctx.attach()
        actor.compare(actor.module(), by_optctx=False)
        with suppress(OptctxError), context_of(options := actor.options(), base="defaults"):
            actor.check(options)


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
            exhaust()
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
    compiling(actor)
    in_thread = threading.Thread(target=compiling, args=(actor,))
    in_thread.start()
    in_thread.join()


def exhaust() -> None:
    """No ExitStack: it loses what it has entered if it cannot note it, and every scope around that stays."""
    contexts: list[OptionContext | None] = [None] * 2000
    entered = 0
    with suppress(MemoryError):
        while entered < len(contexts):
            contexts[entered] = context = context_of({"unroll-count": str(entered)})
            context.__enter__()
            entered += 1
    while entered:
        entered -= 1
        contexts[entered].__exit__(None, None, None)  # type: ignore[union-attr]


def compiling(actor: Actor) -> None:
    outer, inner = actor.options(), actor.options()
    actor.check()
    with context_of(outer):
        actor.check(outer)
        with context_of(inner):
            actor.check(outer, inner)
    actor.check()


FAULTS = (*_REFUSALS, "detaching", "memory")


def run_with_fault(_: None, name: str, seed: int, answers: Answers) -> None:
    """In a child that has not attached."""
    warnings.simplefilter("ignore", optctx.EngineWarning)
    actor = Actor(Shared(answers, seed), random.Random(seed))
    threading.Thread(target=threading.Event().wait, daemon=True).start()
    if name in _REFUSALS:
        _REFUSALS[name]()
        attaching(actor)
    else:
        {"detaching": detaching, "memory": memory}[name](actor)
