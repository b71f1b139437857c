"""Processes in which Numba is loaded and has compiled nothing: children of one process that loads it once.

Loading Numba, with what it loads when it first compiles, takes 0.7 s, and a fork some milliseconds. optctx is
not loaded: a function that a child runs imports it if it wants to.
"""

from __future__ import annotations

import functools
import importlib
import os
import pickle
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from typing import Any

from llvmlite import binding

from tests.support.alone import Server, alone, text_of
from tests.support.processes import SECONDS

# What Numba imports when it first compiles. Not what decorates functions: then it would make its machine.
_LATER = [
    *("cpython.unicode", "cpython.cmathimpl", "cpython.randomimpl", "core.optional", "misc.gdb_hook"),
    *("misc.literal", "np.linalg", "np.arraymath", "np.arrayobj", "np.random.generator_methods"),
    *("np.polynomial.polynomial_core", "np.npdatetime", "np.npyimpl", "misc.cffiimpl"),
]


def run(function: Callable[..., Any], *arguments: object, process_wide: Sequence[str] = ()) -> Any:
    """Return what a function of a module of this folder returns, in a process of its own.

    The process must end well and print nothing. Before the function's module is imported, LLVM is given the
    arguments of a command line that are named as process-wide.
    """
    work = pickle.dumps(functools.partial(function, *arguments))
    status, printed, returned = _server().ask((work, process_wide))
    assert (status, printed) == (0, "")
    return pickle.loads(bytes.fromhex(returned))


@functools.cache
def _server() -> Server:
    return Server("tests.optctx.numba.numba_processes", dict(os.environ))


@alone
def compile_first_inside(folder: str) -> None:
    """Import Numba after optctx, and have it call its extensions in the middle of its first compilation."""
    from optctx import OptionContext

    inside = OptionContext({"fast-isel": True})
    assert "numba" not in sys.modules
    from tests.optctx.numba.numba_functions import chooses
    from tests.optctx.numba.numba_kernels import code_in_memory, numba

    def compiled() -> tuple[int, str]:
        made = numba.njit("int64(int64, int64)", cache=True)(chooses)
        return sum(made.stats.cache_hits.values()), code_in_memory(made)

    numba.config.CACHE_DIR = folder
    [_, fast], _, [_, plain] = found = [inside.run(compiled), inside.run(compiled), compiled()]
    assert fast != plain
    assert found == [(0, fast), (0, fast), (0, plain)]


# In the server, and in its children


def serve(descriptor: int) -> None:
    """Fork a child for each call that comes. Returns in each of them."""
    for name in _LATER:
        importlib.import_module(f"numba.{name}")
    assert "_toplevel_target_context" not in vars(importlib.import_module("numba.core.registry").cpu_target)
    connection: Connection[Any, Any] = Connection(descriptor)
    while True:
        try:
            work, process_wide = connection.recv()
        except EOFError:  # the tests are over
            return
        printed, returned = os.memfd_create("printed"), os.memfd_create("returned")
        if not (child := os.fork()):
            connection.close()
            return _work(work, process_wide, printed, returned)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        connection.send((status, text_of(printed), text_of(returned)))


def _work(work: bytes, process_wide: Sequence[str], printed: int, returned: int) -> None:
    """Run a pickled call. Loading it may import a module that decorates functions."""
    signal.alarm(int(SECONDS))
    os.dup2(printed, 1)
    os.dup2(printed, 2)
    try:
        for argument in process_wide:
            binding.set_option("", argument)
        os.write(returned, pickle.dumps(pickle.loads(work)()).hex().encode())
    except BaseException:
        traceback.print_exc()
