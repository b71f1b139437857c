"""`propagating`: an executor whose work runs in the context that it was submitted in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from typing import Any, ParamSpec, TypeVar

from optctx.errors import OptionTypeError, shown
from optctx.tasks.wrap import wrap

__all__ = ["PropagatingExecutor", "propagating"]

P = ParamSpec("P")
R = TypeVar("R")


class PropagatingExecutor(Executor):
    """Forwards every call to an executor, with functions wrapped in the context of the submitting task."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    def submit(self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        """As the executor's own. Raises as `optctx.wrap` does; then nothing was submitted."""
        return self._executor.submit(wrap(fn), *args, **kwargs)

    def map(self, fn: Callable[..., R], *iterables: Any, **options: Any) -> Iterator[R]:
        """As the executor's own, with the same keywords (`timeout`, `chunksize`, ...)."""
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
    methods = ("submit", "map", "shutdown")
    missing = [name for name in methods if not callable(getattr(executor, name, None))]
    if isinstance(executor, type) or missing:
        what = f"the class {executor.__name__}" if isinstance(executor, type) else shown(executor)
        raise OptionTypeError(
            f"expected an executor, such as ThreadPoolExecutor(8), found {what}"
            + (f" without {', '.join(missing)}" if missing else "; make one of it")
            + "; for other kinds of pools, give them optctx.wrap(function)"
        )
    return PropagatingExecutor(executor)
