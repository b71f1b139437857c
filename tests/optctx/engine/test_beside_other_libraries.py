"""Attaching beside the threads of an everyday library, which block every signal, and beside any file name."""

from __future__ import annotations

import ctypes
import os
import pathlib
import re
import shutil
from collections.abc import Callable

import pytest

from optctx import UnsupportedImageError, attach, loaded_image
from optctx._native import loaded_libraries
from tests.support.alone import alone
from tests.support.processes import run_python
from tests.support.scopes import four, unrolled


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
    other = shutil.copy(path, folder / "other.so")
    ctypes.CDLL(str(other))
    with pytest.raises(UnsupportedImageError, match=re.escape(f"{other}: ")):
        attach(loaded_image(other))
    steps: list[tuple[Callable[[], object], str]] = [
        (lambda: os.unlink(path), f"open {path} failed: No such file or directory"),
        (lambda: os.mkdir(path), f"{path}: not a regular file"),
    ]
    for happens, said in steps:
        happens()
        with pytest.raises(UnsupportedImageError, match=re.escape(f"cannot use this LLVM: {said}")):
            loaded_image(path)
    with four():
        assert unrolled() == 4


def test_threads_of_libzmq_and_of_faulthandler_block_signals() -> None:
    # A thread that blocked SIGTRAP once made attaching fail.
    run_python("""
        import atexit, faulthandler, pathlib, signal, threading
        import zmq
        context = zmq.Context()
        atexit.register(context.destroy)
        socket = context.socket(zmq.PUSH)
        socket.bind("inproc://here")
        faulthandler.dump_traceback_later(600)
        from tests.support.processes import SECONDS, wait_for

        def blocking():
            masks = [
                int(line.split()[1], 16)
                for status in pathlib.Path("/proc/self/task").glob("*/status")
                for line in status.read_text().splitlines()
                if line.startswith("SigBlk")
            ]
            return sum(mask >> (signal.SIGTRAP - 1) & 1 for mask in masks)

        wait_for(lambda: blocking() >= 3)  # they block signals once they run

        import optctx
        from tests.support.scopes import eight, four, in_threads, unrolled
        barrier = threading.Barrier(2)

        def inside(scope, count):
            with scope:
                barrier.wait(SECONDS)
                assert unrolled() == count

        for _ in range(3):
            in_threads([lambda: inside(four(), 4), lambda: inside(eight(), 8)])
            assert unrolled() == 1 and optctx.info()["error"] is None
            optctx.detach()
        faulthandler.cancel_dump_traceback_later()
    """)
