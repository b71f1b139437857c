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


def run_with_fault(name: str, seed: int, answers: Answers) -> None:
    """In a child that has not attached."""
    dice = random.Random(seed)

    def some() -> dict[str, str]:
        return {name: dice.choice(list(CHOICES[name])) for name in dice.sample(list(CHOICES), 2)}

    def look(**options: str) -> None:
        key = key_of(options)
        expect_code(by_llvmlite, answers.llvmlite, key, "llvmlite's code")
        expect_code(by_optctx, answers.optctx, key, "LLVM's code")

    def compile_in_scopes() -> None:
        optctx.attach()
        outer, inner = some(), some()
        look()
        with OptionContext(outer):
            look(**outer)
            with OptionContext(inner):
                look(**{**outer, **inner})
        look()

    faulthandler.register(signal.SIGALRM, chain=True)  # says where every thread is, and ends
    signal.alarm(_SECONDS)
    threading.Thread(target=threading.Event().wait, daemon=True).start()
    if name in _REFUSALS:  # where code cannot be changed, attaching is refused
        _REFUSALS[name]()
        with suppress(OptctxError):
            compile_in_scopes()
    else:  # the fault comes when code has been changed: it stays, or goes, as a whole
        compile_in_scopes()
        dice.choice(list(_REFUSALS.values()))()
        for _ in range(3):
            with suppress(OptctxError):
                optctx.detach()
                optctx.attach()
            expect_code(by_llvmlite, answers.llvmlite, (), "llvmlite's code")
            with suppress(OptctxError), OptionContext(options := some(), base="defaults"):
                look(**options)
    expect_code(by_llvmlite, answers.llvmlite, (), "llvmlite's code")
