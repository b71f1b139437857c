"""Call stacks of LLVM's first reads: `record()` for tools that ask from where an option is read."""

from __future__ import annotations

from contextlib import ExitStack
from types import TracebackType
from typing import NamedTuple

from optctx import Log, record
from optctx._native import Library, Site, rewrite
from optctx.arch.x86_64.sites import Tactic
from optctx.engine.attach import attach
from optctx.engine.engine import Engine
from optctx.errors import OptctxError

# Bytes in a trampoline. The first and the last are in those that save a register.
_SKIP_RED_ZONE_AND_PUSH, _LOAD_VIEW_AND_WORD, _POP_AND_BACK = 6, 16, 9


class FirstRead(NamedTuple):
    """The first read of a reader in a block. `reader`: its index in the engine's `reader_index`.

    `addresses`: one in each frame, the reader's own first: the instruction that read, then one inside the
    call instruction of each caller. Frames of code that optctx made are left out. `whole`: the stack goes
    back to where the thread began.
    """

    reader: int
    addresses: tuple[int, ...]
    whole: bool


class MadeCode(NamedTuple):
    """Code that optctx made, which has no unwind information.

    `calls`: (begin, end, address of the site) of the code that calls instead of LLVM's instruction. `uses`:
    (address, address of the site, number of the trampoline's register, whether that is on the stack) of each
    instruction that uses a word of a view. `thunks`: where they begin and end.
    """

    calls: list[tuple[int, int, int]]
    uses: list[tuple[int, int, int, bool]]
    thunks: tuple[int, int]


def made_code(engine: Engine) -> MadeCode:
    """Describe what runs instead of LLVM's instructions, which an engine that records has redirected."""
    sites, image = list(engine.plan.references.sites), engine.image
    begin_of = engine.transaction.trampoline_of
    sizes = [(site.address, _trampoline_size(image, site)) for site in sites if site.tactic == Tactic.CALL]
    sizes += [(address, len(code)) for address, _, code in engine.hooks.calls]
    return MadeCode(
        # Where a call returns to is one past its last byte.
        [(begin_of(address), begin_of(address) + size + 1, address) for address, size in sizes],
        [
            (
                begin_of(site.address) + _use_at(site),
                site.address,
                site.scratch,
                site.tactic == Tactic.SAVED,
            )
            for site in sites
        ],
        engine.hooks.thunks,
    )


def _use_at(site: Site) -> int:
    """Return the bytes from a trampoline's start to its instruction that uses the word of the view."""
    return _LOAD_VIEW_AND_WORD + (_SKIP_RED_ZONE_AND_PUSH if site.tactic == Tactic.SAVED else 0)


def _trampoline_size(image: Library, site: Site) -> int:
    """Return the bytes of the site's trampoline, without the jump back."""
    before = image.initial_bytes(site.address, site.length)
    code = rewrite(before, site.operand_at, site.scratch, site.offset)
    return _use_at(site) + len(code) + (_POP_AND_BACK if site.tactic == Tactic.SAVED else 0)


class RecordingStacks:
    """As `record()`, and keep the call stack of the first read of each reader.

    A read takes some 50 microseconds more: about one for each frame. Raises as `record()` does, and
    OptctxError where the native code is built without OPTCTX_LAB.
    """

    def __init__(self) -> None:
        try:
            from optctx._native import ReadStacks
        except ImportError:
            raise OptctxError(
                "call stacks take native code with the laboratory, which `make` builds; wheels have none"
            ) from None
        self._make = ReadStacks.make
        self._recording = record()

    def __enter__(self) -> Log:
        with ExitStack() as entered:
            log = entered.enter_context(self._recording)
            engine = attach()
            self.recorder, made = log._recorder, made_code(engine)
            self.stacks = self._make(engine.space, made.calls, made.uses, made.thunks)
            self.stacks.start()
            entered.callback(self.stacks.stop)
            self._entered = entered.pop_all()
        return log

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._entered.__exit__(kind, error, trace)


def stacks_in(recording: RecordingStacks) -> list[FirstRead]:
    """Return the first reads in a block that has ended, in the order of the reads.

    Raises OptctxError if some are missing.
    """
    recorder, kept = recording.recorder, recording.stacks
    if recorder.lost or not recorder.complete or not kept.complete:
        raise OptctxError(
            "not every call stack of a read was kept: memory ran out, or another handler of SIGSEGV was "
            "installed inside the block"
        )
    return [FirstRead(reader, tuple(addresses), whole) for reader, addresses, whole in kept.stacks]
