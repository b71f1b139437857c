"""Functions, and executors with all their work, that run in the context where they were handed over."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from types import MethodType
from typing import Any, Generic, ParamSpec, TypeVar

from optctx.context.context import OptionContext
from optctx.context.inputs import refuse_deferred
from optctx.context.lookups import current, seen, values_outside
from optctx.engine.attach import engines, is_default
from optctx.errors import OptionTypeError, shown

P = ParamSpec("P")
R = TypeVar("R")


class Wrapped(Generic[P, R]):
    """A function, and the context that each call runs in. Can be pickled if both can."""

    def __init__(self, function: Callable[P, R], context: OptionContext) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._context = context

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with self._context:
            return self._function(*args, **kwargs)

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        """Bind to an instance, as a function in a class does."""
        return self if instance is None else MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<{self._function!r} in {self._context!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return Wrapped, (self._function, self._context)


def wrap(function: Callable[P, R], /) -> Wrapped[P, R]:
    """Return a function that calls `function` in the context that is current now.

    It can be called on any thread, and in another process. Each call enters the context on its own thread,
    for its own duration, and so with the scope of each LLVM that is entered here. Outside all scopes the
    current context has llvmlite's process-wide values of this moment, so later process-wide changes do not
    reach the calls. Takes any callable. The result can be pickled if the
    function and the context can.

        loop.run_in_executor(None, optctx.wrap(compile), module)

    Raises:
        OptionTypeError: `function` cannot be called, or is one that `OptionContext.run` refuses.
        ScopeError: As for `current()`.
    """
    refuse_deferred(function)
    first, *others = _here()  # of different LLVMs, so their order does not count
    wrapped = Wrapped(function, first)
    for context in others:
        wrapped = Wrapped(wrapped, context)
    return wrapped


def _here() -> list[OptionContext]:
    """List the current context of each LLVM: of llvmlite's, and of all others that have one entered."""
    what = "say what is current"
    found = [
        seen(engine, what) or (values_outside(engine) if is_default(engine) else None)
        for engine in engines()
        if engine.attached
    ]
    return [context for context in found if context is not None] or [current()]


class PropagatingExecutor(Executor):
    """Forwards every call to an executor, with functions wrapped in the context of the submitting task."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    def submit(self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        """Submit a call to the executor. Raises as `optctx.wrap` does, before anything is submitted."""
        return self._executor.submit(wrap(fn), *args, **kwargs)

    def map(self, fn: Callable[..., R], *iterables: Any, **options: Any) -> Iterator[R]:
        """Map with the executor, which takes the keywords (`timeout`, `chunksize`, ...)."""
        return self._executor.map(wrap(fn), *iterables, **options)

    def shutdown(self, wait: bool = True, **options: Any) -> None:
        """Shut the executor down. Leaving a `with` block of either executor does the same."""
        self._executor.shutdown(wait, **options)

    def __repr__(self) -> str:
        return f"<propagating {self._executor!r}>"


def propagating(executor: Executor) -> PropagatingExecutor:
    """Return an executor that runs each piece of work in the context that is current where it is submitted.

        with OptionContext(unroll_count=4), propagating(ThreadPoolExecutor(8)) as pool:
            objects = list(pool.map(compile, sources))

    Work submitted outside all scopes runs with the process-wide values of that moment (see `wrap`). With
    asyncio: `loop.run_in_executor(propagating(pool), compile, source)`.

    Args:
        executor: Any object with the methods of `concurrent.futures.Executor`: a pool of threads or
            processes, or an executor of another library. Contexts are pickled for processes, and a worker
            process attaches once, which takes about half a second. The executor stays usable by itself.
            Shutting down either shuts down both.

    Raises:
        OptionTypeError: `executor` is not an executor. The methods of the result raise as `wrap` does.
    """
    if isinstance(executor, PropagatingExecutor):
        return executor
    if isinstance(executor, type) or not callable(getattr(executor, "submit", None)):
        raise OptionTypeError(
            f"expected an executor, such as ThreadPoolExecutor(8), found {shown(executor)}; for other kinds "
            "of pools, give them optctx.wrap(function)"
        )
    return PropagatingExecutor(executor)
