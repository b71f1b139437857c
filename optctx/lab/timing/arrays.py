"""The arguments of a call: bytes of arrays, their places in memory, and what a call leaves there.

Random numbers come from `random.Random(seed).random()`, the Mersenne Twister whose sequence Python's
documentation promises to keep. The same harness gives the same bytes on every machine and release.
"""

from __future__ import annotations

import ctypes
import math
import mmap
import operator
import random
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from optctx.lab.timing.harness import KINDS, Array, Harness, Kind, Value
from optctx.lab.timing.results import Difference, Tolerance

_PAGE = mmap.PAGESIZE
_LINE = 64  # bytes: arrays begin where cache lines do
_UNREADABLE = 0  # PROT_NONE
_WORD = 1 << 32


def array_bytes(argument: Array) -> bytes:
    """What the array holds before a call, in the order of this machine."""
    kind, length = KINDS[argument.type], argument.length
    if argument.contents is not None:
        return argument.contents
    if argument.fill == "zeros":
        return bytes(argument.size)
    numbers: list[float] | list[int]
    if argument.fill == "random":
        draw = random.Random(argument.seed).random
        low, high = argument.bounds
        if kind.is_float:
            # No sum of rounded products: equal on every machine that rounds as IEEE 754 says.
            numbers = [low + (high - low) * draw() for _ in range(length)]
        else:
            least, span = int(low), int(high) - int(low) + 1
            words = 1 if span <= _WORD else 2  # of 32 random bits
            numbers = [least + (_bits(draw, words) * span >> 32 * words) for _ in range(length)]
    elif argument.fill == "arange":
        first = argument.low or 0
        if kind.is_float:
            numbers = [first + step for step in range(length)]
        else:
            span = kind.high - kind.low + 1
            numbers = [kind.low + (int(first) - kind.low + step) % span for step in range(length)]
    else:
        assert not isinstance(argument.fill, str)
        return array(kind.code, [argument.fill]).tobytes() * length
    return array(kind.code, numbers).tobytes()


def _bits(draw: Callable[[], float], words: int) -> int:
    found = 0
    for _ in range(words):
        found = found << 32 | int(draw() * _WORD)
    return found


def value_word(argument: Value) -> bytes:
    """The eight bytes from which a caller loads the number."""
    kind = KINDS[argument.type]
    number = float(argument.value) if kind.is_float else int(argument.value)
    return array(kind.code, [number]).tobytes().ljust(8, b"\0")


@dataclass(frozen=True)
class Outputs:
    """What one call left: the returned value's word, and the bytes of each output array by its place.

    `outside`: the place of an array beyond which the call wrote, or -1.
    """

    returned: bytes
    arrays: dict[int, bytes]
    outside: int = -1


class _Region:
    """One array, in a region of its own between unreadable pages."""

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


class Arguments:
    """The arguments of one call, in memory. `words`: one word for each, a number or the address of an array.

    `layout` seeds where arrays are. `filler` is the byte around them: it tells writes beyond an array. It
    differs from process to process, so that what is read beyond an array shows in the outputs.
    """

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


def compare(harness: Harness, base: Outputs, found: Outputs, tolerance: Tolerance) -> Difference | None:
    """The first difference, if any: a write beyond an array, an element, or the returned value."""
    if found.outside >= 0:
        return Difference(found.outside, (), 0, 0, 0, outside=True)
    compared: list[tuple[int | None, Kind, tuple[int, ...], bytes, bytes]] = []
    for place, content in base.arrays.items():
        argument = harness.arguments[place]
        assert isinstance(argument, Array)
        compared.append((place, argument.type, argument.shape, content, found.arrays[place]))
    if harness.returns is not None:
        size = KINDS[harness.returns].size
        compared.append((None, harness.returns, (), base.returned[:size], found.returned[:size]))
    for where, name, shape, expected, given in compared:
        if expected == given:
            continue
        kind, is_same = KINDS[name], operator.eq
        if kind.is_float:
            is_same = partial(_is_close, tolerance, tolerance == Tolerance())
        theirs, ours = array(kind.code, expected), array(kind.code, given)
        pairs = enumerate(zip(theirs, ours, strict=True))
        if places := [at for at, (one, two) in pairs if not is_same(one, two)]:
            first = places[0]
            return Difference(where, _index(first, shape), theirs[first], ours[first], len(places))
    return None


def _is_close(tolerance: Tolerance, exact: bool, expected: float, found: float) -> bool:
    """Whether they are close enough; where that is to be exact, have the same bits or are both no number."""
    if expected != expected:
        return found != found
    if expected == found:
        return not exact or math.copysign(1, expected) == math.copysign(1, found)
    if abs(expected) == float("inf"):
        return False
    return abs(found - expected) <= max(tolerance.absolute, tolerance.relative * abs(expected))


def _index(place: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    index: list[int] = []
    for extent in reversed(shape):
        place, rest = divmod(place, extent)
        index.insert(0, rest)
    return tuple(index)
