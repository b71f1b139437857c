"""Where LLVM's code cannot be changed: one error with the reason and what to do, and nothing is changed."""

from __future__ import annotations

import os
import sys
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
from tests.support.scopes import unrolled_by_llvmlite
from tests.support.seccomp import forbid_code


def no_decoder() -> None:
    os.environ["OPTCTX_ATTACH_CACHE"] = "off"
    sys.modules["capstone"] = None  # type: ignore[assignment]


# What is missing, and what is said of it. What was kept has been decoded: without it, a decoder is needed.
REASONS = ((forbid_code, "mprotect"), (no_decoder, "capstone cannot be used"))


@alone
def test_each_reason_is_an_error_that_says_what_to_do_which_works_there_and_changes_nothing() -> None:
    def child(missing: Callable[[], None], because: str) -> None:
        missing()
        with pytest.raises(optctx.UnsupportedImageError, match=because) as caught:
            optctx.OptionContext(unroll_count=4)
        assert "nothing was changed" in str(caught.value)
        assert "optctx.compiling.FreshProcess" in str(caught.value)
        assert because in optctx.info()["error"]
        assert (attached(), changed_code()) == (None, [])
        assert unrolled_by_llvmlite() == 1
        if missing is forbid_code:
            job = Job(COUNTED, UNROLL, triple=X86, emit="ir", options=("-unroll-count=4",))
            with FreshProcess() as fresh:
                assert (fresh.compile(job).ir or "").count("store volatile") == 4

    for row in REASONS:
        in_child(partial(child, *row))
