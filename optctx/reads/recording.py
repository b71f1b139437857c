"""`record()`: a block that records what LLVM reads; and for tools, which of some options it reads."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from optctx._native import Recorder, RecordingBase
from optctx.engine.attach import attach
from optctx.engine.engine import Engine
from optctx.errors import ScopeError, UnsupportedImageError
from optctx.image.loaded import Image
from optctx.reads.log import Log
from optctx.reads.readers import readers_of
from optctx.tasks.scopes import follow_tasks


class Recording(RecordingBase):
    """The block that `record()` returns. Entering and leaving it are one native step each."""

    _log: Log | None = None
    _image: Image | None = None
    _names: frozenset[str] | None = None  # None: of all options

    if TYPE_CHECKING:

        def __enter__(self) -> Log: ...

    @property
    def log(self) -> Log:
        """The log that `with` returns. Raises ScopeError before the block was entered."""
        if self._log is None:
            raise ScopeError("cannot give the log of a recording that was not entered")
        return self._log

    def _prepare(self) -> Log:
        """Do everything but start. Called by `__enter__`."""
        if self._log is not None:
            raise ScopeError("cannot enter this recording again: it was entered before; call record() again")
        engine = attach(self._image)
        readers_of(engine)  # prepares the engine
        follow_tasks(engine)
        recorder = Recorder.make(engine.space)
        if self._names is not None:
            recorder.only(_readers(engine, self._names))
        self._log = Log(engine, recorder)
        return self._log

    def _cannot_start(self, why: str) -> UnsupportedImageError:
        self._log = None
        return UnsupportedImageError(f"cannot record what LLVM reads: {why}; nothing was changed")

    def _cannot_stop(self, why: str) -> ScopeError:
        return ScopeError(f"cannot end the recording: {why}")


def record(image: Image | None = None) -> Recording:
    """Record every option that LLVM reads on this thread inside the block, with its values and the functions.

    Reaches this thread only, under any scope, bound LLVMContext or function attribute. Other threads run as
    before. Blocks nest: an inner read counts for the outer block as well. The first read of an option in each
    function takes a few microseconds, and later reads take nothing. Lookups by optctx itself are not
    recorded.

    LLVM reads some options when PipelineTuningOptions are made, and others when a TargetMachine is first used
    outside all scopes. Make these objects inside the block to record such reads.

    `image`: of which LLVM, from `loaded_image`; None means llvmlite's.

    Raises:
        UnsupportedImageError: On entering, if this thread blocks SIGSEGV, or if another handler has replaced
            optctx's handler of it.
        OptionTypeError: On entering, if `image` is not an image.
        ScopeError: On leaving, if the block was not entered or is not the innermost one of this thread.
    """
    recording = Recording()
    recording._image = image
    return recording


def noting(names: frozenset[str], image: Image | None = None) -> Recording:
    """Record as `record()` does, but only reads of these options. `read_in` gives them.

    The first read of an option takes as long as in `record()`. Reads of others take nothing, where a
    compilation has some hundreds of them. None of the names is an alias. Raises as `record()` does.
    """
    recording = record(image)
    recording._names = names
    return recording


def read_in(recording: Recording) -> frozenset[str]:
    """Name the options of `noting` that were read in its block, which has ended.

    Raises OptctxError if not everything was recorded.
    """
    assert recording._names is not None
    # A reader may see several options, and an enclosing block may want more.
    return recording.log.names & recording._names


@lru_cache(maxsize=16)
def _readers(engine: Engine, wanted: frozenset[str]) -> list[int]:
    """Find the readers that see the values of these options, none of which is an alias."""
    readers = enumerate(readers_of(engine))
    return [index for index, (_, options) in readers if any(option.name in wanted for option in options)]
