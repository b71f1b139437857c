"""Runs the body of a test in a forked child: a crash or a hang there is an exception here."""

from __future__ import annotations

import contextlib
import faulthandler
import functools
import io
import os
import pickle
import re
import socket
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any, Literal, ParamSpec, TypeVar, cast, overload

from hypothesis import currently_in_test_context
from hypothesis.control import current_build_context
from hypothesis.errors import Frozen, InvalidState
from hypothesis.reporting import with_reporter
from tblib import pickling_support

from optctx.children.child import Channel, fork, reap
from optctx.children.death import Death, cause_of_end, last_words, printed_to
from optctx.children.messages import Limits, write_all
from optctx.children.pool import LONGEST
from optctx.compiling.fresh import checked_limits
from optctx.errors import OptctxError, shown
from optctx.testing.compiler import CrashError, HangError

P = ParamSpec("P")
R = TypeVar("R")
_GAVE, _RAISED = b"+", b"-"
# Where a stack of faulthandler's comes to this module, and goes on with what has called the test.
_CALLERS = re.compile(rf'^  File "{re.escape(__file__)}".*?(?=^$|\Z)', re.DOTALL | re.MULTILINE)


@overload
def crash_proof(function: Callable[P, R], /) -> Callable[P, R]: ...
@overload
def crash_proof(*, timeout: float = ..., memory: int = ...) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def crash_proof(
    function: Callable[..., Any] | None = None, /, *, timeout: float = 5.0, memory: int = 4 << 30
) -> Callable[..., Any]:
    """Run each call of a function in a forked child, in which LLVM may crash or hang.

    A decorator of tests, above or below Hypothesis's `@given`; it also takes plain functions, such as the
    condition of `hypothesis.find`. What the body returns or raises comes back, as `assume`, `pytest.skip` and
    failed assertions do. What it changes stays in the child. What it prints goes to standard output if it
    returns, and into a note of the exception otherwise. Hypothesis measures the child as well: use
    `settings(deadline=None)`.

    >>> import ctypes
    >>> from optctx.testing import CrashError, crash_proof
    >>> crash_proof(lambda: 6 * 7)()
    42
    >>> try:
    ...     crash_proof(ctypes.string_at)(0)
    ... except CrashError as error:
    ...     print(error)
    string_at ended its process: killed by SIGSEGV

    Args:
        timeout: Seconds for one call.
        memory: Bytes of address space for one call, in addition to this process's.

    Raises:
        CrashError: When it is called: a signal or an exit ended the child.
        HangError: When it is called: the child took longer than `timeout`.
        OptctxError: The limits are none. When it is called: no process can be started, the result cannot be
            pickled, as that of a coroutine, or the body draws from Hypothesis.
    """
    limits = checked_limits(timeout, memory)

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        if (test := getattr(function, "hypothesis", None)) is not None:
            test.inner_test = decorate(test.inner_test)
            return function

        @functools.wraps(function)
        def in_child(*args: P.args, **kwargs: P.kwargs) -> R:
            __tracebackhide__ = True  # by pytest
            body = functools.partial(function, *args, **kwargs)
            return cast("R", _result(body, *_ended(body, limits)))

        return in_child

    return decorate if function is None else decorate(function)


def _ended(body: functools.partial[Any], limits: Limits) -> tuple[bytes, Death]:
    """Run the body in a child. Return its answer, b"" if there is none, and its end."""
    sys.stdout.flush()  # otherwise the child writes it as well
    sys.stderr.flush()
    with contextlib.ExitStack() as stack:
        try:
            talk, its = map(stack.enter_context, socket.socketpair())
            answer, printed = (
                stack.enter_context(open(os.memfd_create(name), "rb")) for name in ("answer", "printed")
            )
            with _forking():
                work = functools.partial(_run, body, limits, answer.fileno())
                pid = fork(work, its.fileno(), printed.fileno(), [talk.fileno()])
        except OSError as error:
            raise OptctxError(f"cannot run {shown(body.func)} in a child: {error.strerror}") from None
        its.close()
        has_answered, in_time = False, False
        try:
            talk.settimeout(min(limits.seconds or LONGEST, LONGEST))
            with contextlib.suppress(TimeoutError):
                has_answered, in_time = bool(talk.recv(1)), True
        finally:
            status = reap(pid)
        answer.seek(0)
        how: Literal["ended", "timed out"] = "ended" if in_time else "timed out"
        death = Death(how, status, printed_to(printed.fileno()), limits.seconds)
        return answer.read() if has_answered else b"", death


@contextlib.contextmanager
def _forking() -> Iterator[None]:
    """Fork where no other thread is in a call of llvmlite, whose lock the child would find held.

    From Python 3.12 on, `os.fork` warns of other threads (design/fork.md).
    """
    loaded = sys.modules.get("llvmlite.binding.ffi")
    lock = contextlib.nullcontext() if loaded is None else loaded.lib._lock._lock
    with lock, warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", "This process .* is multi-threaded, use of fork", DeprecationWarning
        )
        yield


def _result(body: functools.partial[Any], answer: bytes, death: Death) -> object:
    """Return what the body has returned, or raise what it has raised or how its process ended."""
    __tracebackhide__ = True
    name = getattr(body.func, "__name__", shown(body.func))
    error: BaseException
    if answer:
        value = pickle.loads(answer[1:])
        if answer[:1] == _GAVE:
            sys.stdout.write(death.printed)
            return value
        error = value
    elif death.how == "timed out":
        error = HangError(f"{name} {death}")
    else:
        end = cause_of_end(death.status, last_words(death.printed))
        error = CrashError(f"{name} ended its process: {end}")
    if printed := _CALLERS.sub("", death.printed).strip():
        error.add_note(f"Its process printed:\n{printed}")
    raise error


# In the child.


def _run(body: functools.partial[Any], limits: Limits, answer: int, channel: Channel) -> None:
    """Call the body, write what came of it to a memory file, and say so."""
    limits.apply()
    # pytest and its users replace these, and a crash would print to the terminal each time.
    faulthandler.enable(2, all_threads=False)
    sys.stdout, sys.stderr = (os.fdopen(number, "w", buffering=1, closefd=False) for number in (1, 2))
    try:
        with _cut_off():
            result = body()
        try:
            said = _GAVE + pickle.dumps(result)
        except Exception as error:
            raise OptctxError(
                f"cannot bring the result of {shown(body.func)} back from its child: {error}; return data "
                "that can be pickled, or nothing"
            ) from None
    except BaseException as error:  # such as pytest.skip's
        said = _RAISED + _pickled(error)
    sys.stdout.flush()
    sys.stderr.flush()
    write_all(answer, said)
    channel.send(None)


@contextlib.contextmanager
def _cut_off() -> Iterator[None]:
    """Refuse draws, which Hypothesis would not see, and print what its `note` is given."""
    if not currently_in_test_context():
        yield
        return
    current_build_context().data.frozen = True
    try:
        with with_reporter(print):
            yield
    except (Frozen, InvalidState):
        raise OptctxError(
            "cannot draw inside crash_proof: Hypothesis does not see draws in a child; draw the values with "
            "@given, and decorate a function that the test passes them to"
        ) from None


def _pickled(error: BaseException) -> bytes:
    """Pickle an exception with its traceback: Hypothesis tells failures by their type and place.

    One that cannot be pickled, or found by its name, becomes its text, of the nearest class that can.
    """
    place = error.__traceback__ and error.__traceback__.tb_next  # without the frame of this module
    with contextlib.suppress(Exception):
        return _checked(error.with_traceback(place))
    for kind in type(error).__mro__:
        text = str(error) if kind is type(error) else f"{type(error).__qualname__}: {error}"
        with contextlib.suppress(Exception):
            return _checked(kind(text).with_traceback(place))
    raise AssertionError("BaseException can be pickled")


def _checked(error: BaseException) -> bytes:
    pickling_support.install(error)
    file = io.BytesIO()
    _Pickler(file).dump(error)
    pickle.loads(file.getvalue())
    return file.getvalue()


class _Pickler(pickle.Pickler):
    """Pickles outcomes of pytest as well, such as a skip: their classes are said to be of `builtins`."""

    def reducer_override(self, part: object) -> Any:
        pytest = sys.modules.get("pytest")
        for raises in (pytest.skip, pytest.fail, pytest.exit) if pytest else ():
            if part is raises.Exception:
                return getattr, (raises, "Exception")
        return NotImplemented
