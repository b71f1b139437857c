"""Attaching again and again, beside libraries of any name, and where LLVM's code cannot be changed."""

from __future__ import annotations

import ctypes
import os
import pathlib
import re
import shutil
import sys
from collections.abc import Callable
from functools import partial

import pytest
from llvmlite.binding import ffi

import optctx
from optctx import UnsupportedImageError, attach, loaded_image
from optctx._native import loaded_libraries
from optctx.compiling import FreshProcess, Job
from optctx.engine.attach import attached
from tests.support.alone import alone
from tests.support.ir_texts import COUNTED, UNROLL, X86
from tests.support.library_code import changed_code
from tests.support.processes import in_child, use_small_pages
from tests.support.scopes import four, unrolled, unrolled_by_llvmlite
from tests.support.seccomp import forbid_code


@alone
def test_a_cycle_of_detaching_and_attaching_leaks_nothing() -> None:
    def cycle(times: int) -> tuple[float, int]:
        """MiB that no file backs, and mappings."""
        for _ in range(times):
            with four():
                pass
            optctx.detach()
        [private] = re.findall(r"Anonymous: +(\d+)", pathlib.Path("/proc/self/smaps_rollup").read_text())
        return int(private) / 1024, len(pathlib.Path("/proc/self/maps").read_text().splitlines())

    use_small_pages()
    (first, mappings), (second, _), (third, more) = cycle(12), cycle(12), cycle(12)
    # A leak grows each time; without the GIL, what allocators hold grows by 0.2 in the first cycles.
    assert min(second - first, third - second) < 1 / 8
    assert more <= mappings + 2


@alone
def test_a_library_in_a_folder_whose_name_is_not_utf8_is_a_library_like_any_other(
    tmp_path: pathlib.Path,
) -> None:
    folder = tmp_path / os.fsdecode(b"\xff")
    folder.mkdir()
    path = str(folder / "copy.so")
    shutil.copy(next(each for each, _ in loaded_libraries() if "/libm" in each), path)
    ctypes.CDLL(path)
    assert path in [each for each, _ in loaded_libraries()]
    with pytest.raises(UnsupportedImageError, match=re.escape(f"{path}: ")):
        attach(loaded_image(path))
    other = shutil.copy(path, folder / "other.so")
    ctypes.CDLL(str(other))
    for change, said in ((os.unlink, "No such file or directory"), (os.mkdir, "not a regular file")):
        change(other)
        with pytest.raises(UnsupportedImageError, match=f"cannot use this LLVM: .*other.so.*{said}"):
            loaded_image(other)
    with four():
        assert unrolled() == 4


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


@alone
def test_attaching_again_drops_nothing_that_another_thread_may_be_in() -> None:
    """ctypes calls a function's `errcheck` without a reference to it."""

    def checks() -> list[object]:
        return [ffi.lib._fntab[name]._cfn.errcheck for name in sorted(ffi.lib._fntab)]

    optctx.attach()
    before = checks()
    assert len({id(each) for each in before}) > 1
    for _ in range(3):
        optctx.detach()
        optctx.attach()
        assert all(now is was for now, was in zip(checks(), before, strict=True))
