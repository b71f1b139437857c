"""Which way a process runs: by hand with OPTCTX_ENGINE, and by itself where code cannot be changed."""

from __future__ import annotations

import errno
import os
import platform
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import pytest

import optctx
from optctx.engine import attach as attaching
from optctx.engine.attach import attached
from optctx.engine.engine import CannotRedirectError
from optctx.engine.exclusive_engine import ExclusiveEngine
from optctx.engine.thread_engine import ThreadEngine
from tests.support.alone import alone
from tests.support.garbage import left_behind, no_collector
from tests.support.library_code import changed_code
from tests.support.processes import in_child
from tests.support.scopes import unrolled
from tests.support.seccomp import forbid_code, refuse


def use_it(because: str) -> None:
    with pytest.warns(optctx.EngineWarning, match=because) as caught:
        optctx.attach()
    [warning] = caught
    assert warning.filename == __file__  # where it was used
    for count in (4, 5):
        with optctx.OptionContext(unroll_count=count):
            assert unrolled() == count
    info = optctx.info()
    assert info["engine"] == "exclusive"
    assert because in info["engine_reason"]
    assert changed_code() == []


@alone(OPTCTX_ENGINE="")
def test_a_kernel_without_membarrier_is_none() -> None:
    refuse("membarrier", errno.ENOSYS)
    threading.Thread(target=threading.Event().wait, daemon=True).start()
    with optctx.OptionContext(unroll_count=4):
        assert unrolled() == 4
    assert optctx.info()["engine"] == "thread"


@alone(OPTCTX_ENGINE="")
def test_a_warning_that_is_an_error_leaves_what_detach_undoes() -> None:
    forbid_code()
    with pytest.raises(optctx.EngineWarning):
        optctx.attach()
    assert attached() is not None
    optctx.detach()
    assert attached() is None


@alone
def test_a_kernel_that_forbids_changing_code_is_an_error_for_who_wants_threads() -> None:
    os.environ["OPTCTX_ENGINE"] = "thread"
    forbid_code()
    for _ in range(2):
        with pytest.raises(optctx.UnsupportedImageError) as caught:
            optctx.registry()
        assert "mprotect" in str(caught.value)
        assert "OPTCTX_ENGINE=exclusive" in str(caught.value)
    info = optctx.info()
    assert info["engine"] is None
    assert "mprotect" in info["error"]
    assert changed_code() == []
    assert unrolled() == 1


def no_decoder() -> None:
    sys.modules["capstone"] = None  # type: ignore[assignment]


def instruction_not_known() -> None:
    from optctx.arch import CannotDecodeError
    from optctx.arch.x86_64.capstone_decoder import CapstoneDecoder

    def not_known(*_: object) -> None:
        raise CannotDecodeError("not known: 90")

    CapstoneDecoder.decode = not_known  # type: ignore[method-assign, assignment]


def other_processor() -> None:
    platform.machine = lambda: "riscv64"


# What is missing, and what is said of it. What was kept has been decoded: without it, a decoder is needed.
REASONS: list[tuple[Callable[[], None], str]] = [
    (forbid_code, "mprotect"),
    (partial(refuse, "mremap", errno.EPERM), "mremap"),
    (no_decoder, "capstone cannot be used"),
    (instruction_not_known, "not known: 90"),
    (other_processor, "riscv64"),
]


@alone(OPTCTX_ENGINE="")
def test_what_cannot_be_done_or_decoded_here_is_a_reason_to_take_turns() -> None:
    def child(missing: Callable[[], None], because: str) -> None:
        if missing in (no_decoder, instruction_not_known, other_processor):
            os.environ["OPTCTX_ATTACH_CACHE"] = "off"
        missing()
        with no_collector():
            use_it(because)
            assert left_behind() == []

    for row in REASONS:
        in_child(partial(child, *row))


@alone(OPTCTX_ENGINE="")
def test_a_fallback_without_memory_leaves_nothing_of_its_plan() -> None:
    """The next call may find the kernel in another mood, and both plans number the options."""
    attaches, makes = ThreadEngine.attach, ExclusiveEngine.__init__

    def refused(engine: ThreadEngine) -> None:
        ThreadEngine.attach = attaches  # type: ignore[method-assign]
        raise CannotRedirectError("refused")

    def made(engine: ExclusiveEngine, *arguments: Any) -> None:
        makes(engine, *arguments)
        raise MemoryError

    ThreadEngine.attach = refused  # type: ignore[method-assign, assignment]
    ExclusiveEngine.__init__ = made  # type: ignore[method-assign, assignment]
    with pytest.raises(MemoryError):
        optctx.attach()
    with optctx.OptionContext(unroll_count=4):
        assert unrolled() == 4
    assert optctx.info()["engine"] == "thread"


@alone
def test_a_refusal_leaves_no_cycle_that_holds_the_callers_objects() -> None:
    def refused(*_: object) -> None:
        raise optctx.UnsupportedImageError("another layout")

    attaching.survey = refused  # type: ignore[assignment, attr-defined]
    with no_collector():
        with suppress(optctx.UnsupportedImageError):
            optctx.attach()
        assert left_behind() == []


@alone
def test_another_value_of_the_variable_is_one_clear_error() -> None:
    for value in ("threads", "Exclusive", " "):
        os.environ["OPTCTX_ENGINE"] = value
        for use in (optctx.registry, optctx.info):
            with pytest.raises(optctx.OptctxError, match=f"to be thread, exclusive .* {value!r}"):
                use()
    os.environ["OPTCTX_ENGINE"] = "thread"
    assert optctx.info()["engine"] == "thread"
