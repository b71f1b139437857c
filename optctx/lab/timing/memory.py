"""The arrays of a harness in the memory of the process that calls the kernel.

Each has a region of its own with unreadable pages at both ends. The bytes around the array tell writes beyond
it; they differ from process to process, so that what is read beyond it shows in the outputs.
"""

from __future__ import annotations

import ctypes
import mmap
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from optctx.lab.timing.harness import Array, Harness
from optctx.lab.timing.inputs import value_word

__all__ = ["Outputs", "Place", "place_arguments"]

_PAGE = mmap.PAGESIZE
_LINE = 64  # bytes: arrays begin where cache lines do
_UNREADABLE = 0  # PROT_NONE


@dataclass(frozen=True)
class Outputs:
    """What one call left: the returned value's word, and the bytes of each output array by its place.

    `outside`: the place of an array beyond which the call wrote, or -1.
    """

    returned: bytes
    arrays: dict[int, bytes]
    outside: int = -1


class _Region:
    """One array between unreadable pages."""

    def __init__(self, content: bytes, shift: int, filler: int) -> None:
        inner = (len(content) + shift + 2 * _LINE + _PAGE - 1) // _PAGE * _PAGE
        self._content = content
        self._map = mmap.mmap(-1, inner + 2 * _PAGE)
        start = ctypes.addressof(ctypes.c_char.from_buffer(self._map))
        libc = ctypes.CDLL(None, use_errno=True)
        for edge in (start, start + _PAGE + inner):
            libc.mprotect(ctypes.c_void_p(edge), ctypes.c_size_t(_PAGE), _UNREADABLE)
        self._inner = start + _PAGE
        self.address = self._inner + _LINE + shift
        self._before = bytes([filler]) * (self.address - self._inner)
        self._after = bytes([filler]) * (self._inner + inner - self.address - len(content))
        ctypes.memmove(self._inner, self._before, len(self._before))
        ctypes.memmove(self.address + len(content), self._after, len(self._after))
        self.restore()

    def restore(self) -> None:
        ctypes.memmove(self.address, self._content, len(self._content))

    def held(self) -> bytes:
        return ctypes.string_at(self.address, len(self._content))

    @property
    def changed(self) -> bool:
        return self.held() != self._content

    @property
    def overrun(self) -> bool:
        """Whether something wrote beside the array."""
        return (
            ctypes.string_at(self._inner, len(self._before)) != self._before
            or ctypes.string_at(self.address + len(self._content), len(self._after)) != self._after
        )


class Place:
    """The arguments of one call, in memory. `words`: the address of one word for each."""

    def __init__(self, harness: Harness, contents: Sequence[bytes], layout: int, filler: int) -> None:
        draw = random.Random(layout)
        self._regions: dict[int, _Region] = {}
        self._outputs: list[int] = []
        words: Any = (ctypes.c_uint64 * max(1, len(harness.arguments)))()
        given = iter(contents)
        for place, argument in enumerate(harness.arguments):
            if isinstance(argument, Array):
                region = _Region(next(given), draw.randrange(_PAGE // _LINE) * _LINE, filler)
                self._regions[place] = region
                words[place] = region.address
                if argument.output:
                    self._outputs.append(place)
            else:
                words[place] = int.from_bytes(value_word(argument), "little")
        self.words = words
        self.result: Any = (ctypes.c_uint64 * 1)()
        self._restored = list(self._regions.values())

    def restore(self) -> None:
        """Give the arrays their contents before the call."""
        for region in self._restored:
            region.restore()

    def restore_changed_only(self) -> None:
        """From now on, leave alone what the calls until now have not changed."""
        self._restored = [region for region in self._regions.values() if region.changed]

    def outputs(self) -> Outputs:
        outside = [place for place, region in self._regions.items() if region.overrun]
        arrays = {place: self._regions[place].held() for place in self._outputs}
        return Outputs(bytes(self.result), arrays, outside[0] if outside else -1)


def place_arguments(harness: Harness, contents: Sequence[bytes], layout: int, filler: int) -> Place:
    """Put the arrays into memory. `layout` seeds where, `filler` is the byte around them."""
    return Place(harness, contents, layout, filler)
