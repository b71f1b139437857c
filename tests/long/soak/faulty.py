"""One fault in a process of its own: an error of ours or none, and right results afterwards.

A system call filter (seccomp) makes membarrier(2), mprotect(2) of executable memory, or mremap(2) to a fixed
address fail from then on. Another thread is there, so that code is changed under it.
"""

from __future__ import annotations

import errno
import faulthandler
import random
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import optctx
from optctx import OptctxError, OptionContext
from tests.promises.answers import Answers, by_llvmlite
from tests.promises.model import CHOICES, key_of
from tests.promises.running import by_optctx, expect_code
from tests.support.seccomp import refuse

_SECONDS = 60
_SYNC_CORE = 1 << 5  # MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE: not the query, and not the registration
_EXECUTE = 4  # PROT_EXEC
_FIXED = 2  # MREMAP_FIXED: how changed code comes into place
_REFUSALS: dict[str, Callable[[], None]] = {
    "membarrier": partial(refuse, "membarrier", errno.EPERM, 0, _SYNC_CORE),
    "mprotect": partial(refuse, "mprotect", errno.EACCES, 2, _EXECUTE),
    "mremap": partial(refuse, "mremap", errno.ENOMEM, 3, _FIXED),
}
FAULTS = (*_REFUSALS, "detaching")


class _Faulty:
    def __init__(self, answers: Answers, seed: int) -> None:
        self.answers = answers
        self.dice = random.Random(seed)

    def look(self, **options: str) -> None:
        key = key_of(options)
        expect_code(by_llvmlite, self.answers.llvmlite, key, "llvmlite's code")
        expect_code(by_optctx, self.answers.optctx, key, "LLVM's code")

    def some(self) -> dict[str, str]:
        return {name: self.dice.choice(list(CHOICES[name])) for name in self.dice.sample(list(CHOICES), 2)}

    def compiling(self) -> None:
        outer, inner = self.some(), self.some()
        self.look()
        with OptionContext(outer):
            self.look(**outer)
            with OptionContext(inner):
                self.look(**{**outer, **inner})
        self.look()

    def attaching(self) -> None:
        """Where code cannot be changed, attaching is refused."""
        with suppress(OptctxError):
            optctx.attach()
            self.compiling()
        expect_code(by_llvmlite, self.answers.llvmlite, (), "llvmlite's code")

    def detaching(self) -> None:
        """The fault comes when code has been changed: it stays, or goes, as a whole."""
        optctx.attach()
        self.compiling()
        self.dice.choice(list(_REFUSALS.values()))()
        for _ in range(3):
            with suppress(OptctxError):
                optctx.detach()
                optctx.attach()
            expect_code(by_llvmlite, self.answers.llvmlite, (), "llvmlite's code")
            with suppress(OptctxError), OptionContext(options := self.some(), base="defaults"):
                self.look(**options)


def run_with_fault(name: str, seed: int, answers: Answers) -> None:
    """In a child that has not attached."""
    faulthandler.register(signal.SIGALRM, chain=True)  # says where every thread is, and ends
    signal.alarm(_SECONDS)
    threading.Thread(target=threading.Event().wait, daemon=True).start()
    faulty = _Faulty(answers, seed)
    if name in _REFUSALS:
        _REFUSALS[name]()
        faulty.attaching()
    else:
        faulty.detaching()
