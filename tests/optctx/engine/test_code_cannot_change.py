"""Where LLVM's code cannot be changed: one error with the reason and what to do, and nothing is changed."""

from __future__ import annotations

import errno
import os
import sys
import threading
from collections.abc import Callable
from functools import partial

import pytest

import optctx
from optctx.compiling import FreshProcess, Job
from optctx.engine.attach import attached
from tests.support.alone import alone
from tests.support.ir_texts import COUNTED, UNROLL, X86
from tests.support.library_code import changed_code
from tests.support.processes import in_child
from tests.support.scopes import unrolled, unrolled_by_llvmlite
from tests.support.seccomp import forbid_code, refuse


def no_decoder() -> None:
    os.environ["OPTCTX_ATTACH_CACHE"] = "off"
    sys.modules["capstone"] = None  # type: ignore[assignment]


def instruction_not_known() -> None:
    os.environ["OPTCTX_ATTACH_CACHE"] = "off"
    from optctx.arch import CannotDecodeError
    from optctx.arch.x86_64.capstone_decoder import CapstoneDecoder

    def not_known(*_: object) -> None:
        raise CannotDecodeError("not known: 90")

    CapstoneDecoder.decode = not_known  # type: ignore[method-assign, assignment]


# What is missing, and what is said of it. What was kept has been decoded: without it, a decoder is needed.
REASONS: list[tuple[Callable[[], None], str]] = [
    (forbid_code, "mprotect"),
    (partial(refuse, "mremap", errno.EPERM), "mremap"),
    (no_decoder, "capstone cannot be used"),
    (instruction_not_known, "not known: 90"),
]


@alone
def test_each_reason_is_an_error_that_says_what_to_do_and_changes_nothing() -> None:
    def child(missing: Callable[[], None], because: str) -> None:
        missing()
        for use in (optctx.registry, partial(optctx.OptionContext, unroll_count=4)):
            with pytest.raises(optctx.UnsupportedImageError, match=because) as caught:
                use()
            assert "nothing was changed" in str(caught.value)
            assert "optctx.compiling.FreshProcess" in str(caught.value)
        assert because in optctx.info()["error"]
        assert (attached(), changed_code()) == (None, [])
        assert unrolled_by_llvmlite() == 1

    for row in REASONS:
        in_child(partial(child, *row))


@alone
def test_what_the_error_recommends_works_there() -> None:
    forbid_code()
    job = Job(COUNTED, UNROLL, triple=X86, emit="ir", options=("-unroll-count=4",))
    with pytest.raises(optctx.UnsupportedImageError):
        optctx.OptionContext(unroll_count=4)
    with FreshProcess() as fresh:
        assert (fresh.compile(job).ir or "").count("store volatile") == 4


@alone
def test_a_kernel_without_membarrier_is_none() -> None:
    refuse("membarrier", errno.ENOSYS)
    threading.Thread(target=threading.Event().wait, daemon=True).start()
    with optctx.OptionContext(unroll_count=4):
        assert unrolled() == 4
