"""Processes in which Numba is loaded and has compiled nothing: children of one process that loads it once.

Loading Numba, with what it loads when it first compiles, takes 0.7 s, and a fork some milliseconds. optctx is
not loaded: a function that a child runs imports it if it wants to.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import importlib
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Sequence
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any

from llvmlite import binding

__all__ = ["at_once", "run"]

SECONDS = 120.0  # far more than anything here takes

# What Numba imports when it first compiles. Not what decorates functions: then it would make its machine.
_LATER = [
    *("cpython.unicode", "cpython.cmathimpl", "cpython.randomimpl", "core.optional", "misc.gdb_hook"),
    *("misc.literal", "np.linalg", "np.arraymath", "np.arrayobj", "np.random.generator_methods"),
    *("np.polynomial.polynomial_core", "np.npdatetime", "np.npyimpl", "misc.cffiimpl"),
]


def run(
    function: Callable[..., Any], *arguments: object, process_wide: Sequence[str] = (), **environment: str
) -> Any:
    """Return what a function of a module of this folder returns, in a process of its own.

    The process must end well and print nothing. Before the function's module is imported, the environment is
    changed, and LLVM is given the arguments of a command line that are named as process-wide.
    """
    [found] = at_once(functools.partial(function, *arguments), process_wide=process_wide, **environment)
    return found


def at_once(*works: Callable[[], Any], process_wide: Sequence[str] = (), **environment: str) -> list[Any]:
    """Return what functions return, each in a process of its own, at the same time."""
    connection = _server()
    connection.send(([pickle.dumps(each) for each in works], process_wide, environment))
    assert connection.poll(SECONDS), "a process hangs"
    found = []
    for status, printed, returned in connection.recv():
        assert (status, printed) == (0, "")
        found.append(pickle.loads(returned))
    return found


@functools.cache
def _server() -> Connection[Any, Any]:
    ours, theirs = Pipe()
    process = subprocess.Popen(
        [sys.executable, "-W", "error", __file__, str(theirs.fileno())],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)},
        stdin=subprocess.DEVNULL,
        pass_fds=[theirs.fileno()],
        start_new_session=True,
    )
    theirs.close()

    @atexit.register
    def close() -> None:
        ours.close()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    return ours


# In the server, and in its children


def _serve(connection: Connection[Any, Any]) -> None:
    """Fork children for each call that comes."""
    for name in _LATER:
        importlib.import_module(f"numba.{name}")
    assert "_toplevel_target_context" not in vars(importlib.import_module("numba.core.registry").cpu_target)
    while True:
        try:
            works, process_wide, environment = connection.recv()
        except EOFError:  # the tests are over
            return
        children = []
        for work in works:
            printed, returned = os.memfd_create("printed"), os.memfd_create("returned")
            if not (child := os.fork()):
                os.environ.update(environment)
                return _work(work, process_wide, printed, returned)
            children.append((child, printed, returned))
        connection.send([_end(*each) for each in children])


def _work(work: bytes, process_wide: Sequence[str], printed: int, returned: int) -> None:
    """Run a pickled call. Loading it may import a module that decorates functions."""
    os.dup2(printed, 1)
    os.dup2(printed, 2)
    try:
        for argument in process_wide:
            binding.set_option("", argument)
        os.write(returned, pickle.dumps(pickle.loads(work)()))
    except BaseException:
        traceback.print_exc()


def _end(child: int, printed: int, returned: int) -> tuple[int, str, bytes]:
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    texts = [pathlib.Path(f"/proc/self/fd/{each}").read_bytes() for each in (printed, returned)]
    os.close(printed)
    os.close(returned)
    return status, texts[0].decode(errors="replace"), texts[1]


if __name__ == "__main__":
    _serve(Connection(int(sys.argv[1])))
