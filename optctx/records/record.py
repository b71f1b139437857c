"""`record()`: a block in which every option that LLVM reads is noted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from optctx._native import NativeScopeError, Recorder
from optctx.context.scope import follow_tasks
from optctx.engine.attach import attach, stay_attached
from optctx.engine.reading import reading
from optctx.errors import ScopeError, UnsupportedImageError
from optctx.records.log import Log

__all__ = ["record"]


@contextmanager
def record() -> Iterator[Log]:
    """Notes every option that LLVM reads on this thread inside the block, with values and functions.

    Reaches this thread only, whatever scopes, bound LLVMContexts and function attributes are in force there;
    others run as before. Blocks nest: what is read in an inner one is read in the outer one, too. Each
    function's first read of an option takes a few microseconds, later ones nothing.

    An option that PipelineTuningOptions were made with before is not read again: make them inside. The same
    is true of a TargetMachine that is used outside any scope; inside one, what LLVM reads for a machine is
    noted at each use. What optctx itself looks up is not noted.

    Raises UnsupportedImageError where threads take turns (`info()["engine"]`) or where reads cannot be
    noticed (a thread that blocks SIGSEGV; another handler of it over that of optctx), and at the end of the
    block ScopeError if that is not the innermost one of this thread.
    """
    engine = attach()
    reading(engine)
    follow_tasks(engine)
    try:
        recorder = Recorder.start(engine.space)
    except RuntimeError as error:
        raise UnsupportedImageError(f"cannot record what LLVM reads: {error}; nothing was changed") from error
    stay_attached(engine, recorder.stop)
    log = Log(engine, recorder)
    try:
        yield log
    finally:
        try:
            recorder.stop()
        except NativeScopeError as error:
            raise ScopeError(f"cannot end the recording: {error}") from None
        log._end()
