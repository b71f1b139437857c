"""`@alone`: run a test in a process of its own, a child of a process that has loaded everything.

A test that attaches for the first time, chooses an engine, forks or may crash needs a process of its own. A
fresh interpreter takes 100 ms to import `tests.support.scopes`. A child of fork takes a few: it has what its
parent, the server, imported. The server has attached nothing and has one thread. There is one server for each
function that tests name to be called in it first, and for variables that a test names: an interpreter,
its loader and its libraries read some of them early. All others the child sets itself.
"""

from __future__ import annotations

import ast
import atexit
import functools
import gc
import importlib.util
import inspect
import os
import pathlib
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from types import CodeType
from typing import Any, ParamSpec

import pytest
from _pytest.assertion.rewrite import rewrite_asserts

from tests.support.processes import SECONDS, WARNINGS

P = ParamSpec("P")
Test = Callable[P, None]
Prepare = Callable[[], object]

_AFTER = "TESTS_AFTER"  # tells a server which function to call before it forks

_AT_FIRST = dict(os.environ)  # of the whole run: what the modules that a server loads may look at


@dataclass(frozen=True)
class Call:
    """A test to run in a child: where it is defined, what it is given, where the child imports from.

    What it is given stays pickled until the child has imported the test's module, which may define it.
    """

    module: str
    file: str
    name: str
    given: bytes
    path: list[str]
    seconds: float
    environment: dict[str, str]


@dataclass(frozen=True)
class End:
    """How a child ended: its status, None if it hung; why it was skipped or failed; its output."""

    status: int | None
    skipped: str
    failed: str
    printed: str


def alone(test: Test[P]) -> Test[P]:
    """Run a test in a process of its own, as `alone_with` does."""
    return alone_with()(test)


def alone_with(
    seconds: float = SECONDS, after: Prepare | None = None, **environment: str
) -> Callable[[Test[P]], Test[P]]:
    """Run a test in a process of its own, which has to end well, in time, and print nothing.

    The process has the environment of this one and what is named here. The test is a function of a module.
    The values of its parameters are pickled. Its failure is shown as pytest shows it. `after`: a function of
    a module that the server calls once, before it forks: what it keeps is there in every test that names it.
    """

    def decorate(test: Any) -> Any:
        @functools.wraps(test)
        def run(**given: Any) -> None:
            _judge(test.__name__, seconds, end_of(test, seconds, after, environment, **given))

        return run

    return decorate


def end_of(
    function: Callable[..., object],
    seconds: float = SECONDS,
    after: Prepare | None = None,
    environment: Mapping[str, str] = {},
    /,
    **given: Any,
) -> End:
    """Run a function of a module as `alone` does, and return how its process ended, whatever that was.

    A number that it returns is the exit status.
    """
    file = inspect.getfile(inspect.unwrap(function))
    whole = {**os.environ, **environment}
    call = Call(function.__module__, file, function.__name__, pickle.dumps(given), sys.path, seconds, whole)
    prepare = f"{after.__module__} {after.__name__}" if after else ""
    end: End = _server(frozenset({**environment, _AFTER: prepare}.items())).ask(call)
    return end


def _judge(name: str, seconds: float, end: End) -> None:
    """Raise what the test raised, or say how it ended otherwise."""
    told = [end.failed] if end.failed else []
    if end.status is None:
        told.append(f"{name} still runs after {seconds:g} seconds")
    elif end.status < 0:
        told.append(f"{name} was ended by {signal.Signals(-end.status).name}")
    elif end.status:
        told.append(f"{name} ended with status {end.status}")
    if end.printed:
        told.append(f"{name} printed:\n{end.printed}")
    if told:
        pytest.fail("\n".join(told), pytrace=False)
    if end.skipped:
        pytest.skip(end.skipped)


# In the process of pytest


class Server:
    """A process that runs a module's `serve`: it answers what comes on a connection, by forking children."""

    def __init__(self, module: str, environment: dict[str, str]) -> None:
        self._connection, theirs = Pipe()
        self._process = subprocess.Popen(
            [sys.executable, *WARNINGS, "-c", f"from {module} import serve; serve({theirs.fileno()})"],
            cwd=pathlib.Path(__file__).parents[2],
            env={**environment, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)},
            stdin=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
        )
        theirs.close()
        atexit.register(self.close)

    def ask(self, question: object) -> Any:
        """Return its answer."""
        try:
            self._connection.send(question)
            return self._connection.recv()
        except (EOFError, BrokenPipeError):  # it has ended
            self.close()
            raise

    def close(self) -> None:
        """End the process, and the child that it may have."""
        self._connection.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:  # a child of fork still has the connection
            self._process.kill()
            self._process.wait()


@functools.cache
def _server(environment: frozenset[tuple[str, str]]) -> Server:
    """Return the server with these variables; it starts when first asked for."""
    return Server(__name__, {**_AT_FIRST, **dict(environment)})


# In the server, and in its children


def serve(descriptor: int) -> None:
    """Fork a child for each call that comes. Returns in each child, which ends as every interpreter does."""
    import platformdirs.unix  # noqa: F401

    import optctx.arch.x86_64  # noqa: F401  # what attaching imports
    import tests.support.scopes  # noqa: F401  # what nearly every test uses, loaded once

    if prepare := os.environ.pop(_AFTER, "").split():
        getattr(importlib.import_module(prepare[0]), prepare[1])()
    connection: Connection[End, Call] = Connection(descriptor)
    interrupt = signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal: for pytest, which ends this
    gc.collect()
    gc.freeze()  # pages that no child's collector writes to stay shared
    with suppress(EOFError, BrokenPipeError):  # nobody calls any more
        while True:
            call = connection.recv()
            code = _code(call.file)
            skipped, failed, printed = (os.memfd_create(each) for each in ("skipped", "failed", "printed"))
            if not (child := os.fork()):
                signal.signal(signal.SIGINT, interrupt)
                connection.close()
                return _run(call, code, skipped, failed, printed)
            status = _status_of(child, call.seconds, connection)
            connection.send(End(status, text_of(skipped), text_of(failed), text_of(printed)))


@functools.cache
def _code(file: str) -> CodeType:
    """Compile a module of tests; its assertions tell the values they compared, as pytest's own do."""
    source = pathlib.Path(file).read_bytes()
    tree = ast.parse(source, file)
    rewrite_asserts(tree, source, file)
    return compile(tree, file, "exec", dont_inherit=True)


def _status_of(child: int, seconds: float, connection: Connection[Any, Any]) -> int | None:
    """Wait for a child to end and return its status; None for one that hung or that nobody waits for."""
    descriptor = os.pidfd_open(child)
    ended = descriptor in wait([descriptor, connection], seconds)
    os.close(descriptor)
    if not ended:
        os.killpg(child, signal.SIGKILL)  # with its own children
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return status if ended else None


def text_of(descriptor: int) -> str:
    """Return what a child wrote to a file, and close it."""
    with open(descriptor, encoding="utf-8", errors="backslashreplace") as file:
        file.seek(0)
        return file.read()


def _run(call: Call, code: CodeType, skipped: int, failed: int, printed: int) -> None:
    """Run a call in this child of the server; the descriptors are of files for what comes of it."""
    __tracebackhide__ = True
    os.setsid()  # a group, to be ended with its children
    os.dup2(printed, 1)
    os.dup2(printed, 2)
    os.close(printed)
    sys.path[:] = call.path
    for name in os.environ.keys() - call.environment.keys() - {"PYTHONPATH"}:
        del os.environ[name]
    os.environ.update(call.environment)
    try:
        test = getattr(_imported(call, code), call.name)
        status = getattr(test, "__wrapped__", test)(**pickle.loads(call.given))
    except pytest.skip.Exception as error:
        os.write(skipped, str(error).encode())
    except BaseException as error:
        os.write(failed, str(pytest.ExceptionInfo.from_exception(error).getrepr()).encode())
    else:
        if isinstance(status, int):
            sys.exit(status)


def _imported(call: Call, code: CodeType) -> Any:
    """Import the test's module."""
    from optctx.engine.attach import attached

    __tracebackhide__ = True
    spec = importlib.util.spec_from_file_location(call.module, call.file)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[call.module] = module
    before = attached()
    exec(code, module.__dict__)
    assert attached() is before, f"importing {call.module} attaches to LLVM, before the test itself"
    return module
