"""Attaching beside the threads of an everyday library, which block every signal."""

from __future__ import annotations

import pytest

from tests.support.processes import run_python

pytestmark = pytest.mark.redirected


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
        masks = [
            int(line.split()[1], 16)
            for status in pathlib.Path("/proc/self/task").glob("*/status")
            for line in status.read_text().splitlines()
            if line.startswith("SigBlk")
        ]
        assert sum(mask >> (signal.SIGTRAP - 1) & 1 for mask in masks) >= 3

        import optctx
        from tests.support.scopes import eight, four, in_threads, unrolled
        barrier = threading.Barrier(2)

        def inside(scope, count):
            with scope:
                barrier.wait(60)
                assert unrolled() == count

        for _ in range(3):
            in_threads([lambda: inside(four(), 4), lambda: inside(eight(), 8)])
            assert unrolled() == 1 and optctx.info()["engine"] == "thread"
            optctx.detach()
        faulthandler.cancel_dump_traceback_later()
    """)
