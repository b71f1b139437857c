"""Which of some options LLVM reads: `record()` for tools that ask about few of them, often."""

from __future__ import annotations

from functools import lru_cache

from optctx._native import Recorder
from optctx.engine.attach import attach
from optctx.engine.reader_index import ReaderIndex, reader_index
from optctx.records.record import Recording

__all__ = ["noting", "read_in"]


class _RecordingSome(Recording):
    _names: frozenset[str] = frozenset()

    def _recorder(self, recorder: Recorder) -> Recorder:
        recorder.only(_readers(reader_index(attach()), self._names))
        return recorder


def noting(names: frozenset[str]) -> Recording:
    """As `record()`, but only reads of these options are seen. `read_in` gives them.

    The first read of an option takes as long as in `record()`. Reads of others take nothing, where a
    compilation has some hundreds of them. None of the names is an alias. Raises as `record()` does.
    """
    recording = _RecordingSome()
    recording._names = names
    return recording


def read_in(recording: Recording) -> frozenset[str]:
    """Names of the options of `noting` that were read in its block, which has ended.

    Raises OptctxError if not everything was recorded.
    """
    assert isinstance(recording, _RecordingSome)
    # A reader may see several options, and an enclosing block may want more.
    return recording.log.names & recording._names


@lru_cache(maxsize=16)
def _readers(index: ReaderIndex, names: frozenset[str]) -> list[int]:
    return index.of(names)
