"""`record()`: a block in which every option that LLVM reads is noted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from optctx._native import Recorder, RecordingBase
from optctx.context.scope import follow_tasks
from optctx.engine.attach import attach
from optctx.engine.reading import reading
from optctx.errors import ScopeError, UnsupportedImageError
from optctx.records.log import Log

__all__ = ["Recording", "record"]


class Recording(RecordingBase):
    """The block that `record()` returns. Entering and leaving it are one native step each."""

    _log: Log | None = None

    if TYPE_CHECKING:

        def __enter__(self) -> Log: ...

    @property
    def log(self) -> Log:
        """What `with` gives. Raises ScopeError before the block was entered."""
        if self._log is None:
            raise ScopeError("cannot give the log of a recording that was not entered")
        return self._log

    def _prepare(self) -> Log:
        """Called by `__enter__`: everything but the start."""
        if self._log is not None:
            raise ScopeError("cannot enter this recording again: it was entered before; call record() again")
        engine = attach()
        reading(engine)
        follow_tasks(engine)
        self._log = Log(engine, Recorder.make(engine.space))
        return self._log

    def _cannot_start(self, why: str) -> UnsupportedImageError:
        self._log = None
        return UnsupportedImageError(f"cannot record what LLVM reads: {why}; nothing was changed")

    def _cannot_stop(self, why: str) -> ScopeError:
        return ScopeError(f"cannot end the recording: {why}")

    def _finish(self) -> None:
        """Called by `__exit__`, when it has stopped."""
        if self._log is not None:
            self._log._end()


def record() -> Recording:
    """Notes every option that LLVM reads on this thread inside the block, with values and functions.

    Reaches this thread only, whatever scopes, bound LLVMContexts and function attributes are in force there;
    others run as before. Blocks nest: what is read in an inner one is read in the outer one, too. Each
    function's first read of an option takes a few microseconds, later ones nothing.

    An option that PipelineTuningOptions were made with before is not read again: make them inside. The same
    is true of a TargetMachine that is used outside any scope; inside one, what LLVM reads for a machine is
    noted at each use. What optctx itself looks up is not noted.

    Entering raises UnsupportedImageError where threads take turns (`info()["engine"]`) or where reads cannot
    be noticed (a thread that blocks SIGSEGV; another handler of it over that of optctx), and leaving raises
    ScopeError if the block is not the innermost one of this thread.
    """
    return Recording()
