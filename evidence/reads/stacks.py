"""Call stacks of LLVM's first reads: `record()` for tools that ask from where an option is read."""

from __future__ import annotations

from typing import NamedTuple

from optctx._native import Recorder
from optctx.engine.attach import attach
from optctx.engine.thread_engine import ThreadEngine
from optctx.errors import OptctxError
from optctx.reads.recording import Recording

__all__ = ["FirstRead", "recording_stacks", "stacks_in"]


class FirstRead(NamedTuple):
    """The first read of a reader in a block. `reader`: its index in the engine's `reader_index`.

    `addresses`: one in each frame, the reader's own first: the instruction that read, then one inside the
    call instruction of each caller. Frames of code that optctx made are left out. `whole`: the stack goes
    back to where the thread began.
    """

    reader: int
    addresses: tuple[int, ...]
    whole: bool


class _RecordingStacks(Recording):
    def _recorder(self, recorder: Recorder) -> Recorder:
        engine = attach()
        assert isinstance(engine, ThreadEngine)  # preparing has refused other engines
        recorder.keep_stacks(engine.made_calls(), engine.hooks.thunks)
        return recorder


def recording_stacks() -> Recording:
    """As `record()`, and keep the call stack of the first read of each reader.

    A read takes some 50 microseconds more: about one for each frame. Raises as `record()` does.
    """
    return _RecordingStacks()


def stacks_in(recording: Recording) -> list[FirstRead]:
    """The first reads in a block that has ended, in the order of the reads.

    Raises OptctxError if some are missing.
    """
    log = recording.log
    recorder = log._recorder
    if recorder.lost or not recorder.complete or not recorder.stacks_complete:
        raise OptctxError(
            "not every call stack of a read was kept: memory ran out, or another handler of SIGSEGV was "
            "installed inside the block"
        )
    return [FirstRead(reader, tuple(addresses), whole) for reader, addresses, whole in recorder.stacks]
