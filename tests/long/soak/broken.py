"""Operations that are wrong on purpose, for the tests of the soak itself."""

from __future__ import annotations

import os
import signal
import time

from tests.long.soak.actor import Actor, context_of

__all__ = ["crash", "hang", "leave", "raises", "result"]


def result(actor: Actor) -> None:
    with context_of({"unroll-count": "4"}):
        actor.compare("scale", by_optctx=True)


def raises(actor: Actor) -> None:
    raise LookupError("odd")


def crash(actor: Actor) -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def leave(actor: Actor) -> None:
    os._exit(0)


def hang(actor: Actor) -> None:
    time.sleep(1000)
