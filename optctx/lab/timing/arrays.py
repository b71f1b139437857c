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
import struct
import sys
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from optctx.lab.timing.harness import KINDS, Array, Harness, Kind, Value
from optctx.lab.timing.results import Difference, Tolerance

__all__ = ["Arguments", "Outputs", "array_bytes", "compare", "value_word"]

_PAGE = mmap.PAGESIZE
_LINE = 64  # bytes: arrays begin where cache lines do
_UNREADABLE = 0  # PROT_NONE
_HALF = float(1 << 32)


def array_bytes(argument: Array) -> bytes:
    """What the array holds before a call, in the order of this machine."""
    if argument.contents is not None:
        return argument.contents
    kind = KINDS[argument.type]
    if argument.fill == "zeros":
        return bytes(argument.size)
    if argument.fill == "random":
        numbers = _random_floats(argument) if kind.is_float else _random_integers(argument)
        return _packed(kind.code, numbers)
    if argument.fill == "arange":
        first = argument.low or 0
        if kind.is_float:
            return _packed(kind.code, [first + step for step in range(argument.length)])
        span = kind.high - kind.low + 1
        start = int(first) - kind.low
        return _packed(kind.code, [kind.low + (start + step) % span for step in range(argument.length)])
    assert not isinstance(argument.fill, str)
    return _packed(kind.code, [argument.fill]) * argument.length


def _random_floats(argument: Array) -> list[float]:
    draw = random.Random(argument.seed).random
    low, high = argument.bounds
    if (low, high) == (0.0, 1.0):
        return [draw() for _ in range(argument.length)]
    # No sum of rounded products: equal on every machine that rounds as IEEE 754 says.
    return [low + (high - low) * draw() for _ in range(argument.length)]


def _random_integers(argument: Array) -> list[int]:
    draw = random.Random(argument.seed).random
    low, high = map(int, argument.bounds)
    span = high - low + 1
    if span <= 1 << 32:
        return [low + (int(draw() * _HALF) * span >> 32) for _ in range(argument.length)]
    return [
        low + ((int(draw() * _HALF) << 32 | int(draw() * _HALF)) * span >> 64) for _ in range(argument.length)
    ]


def _packed(code: str, numbers: list[float] | list[int]) -> bytes:
    return array(code, numbers).tobytes()  # a float beyond the type becomes infinity, as C rounds


def value_word(argument: Value) -> bytes:
    """The eight bytes from which a caller loads the number."""
    kind = KINDS[argument.type]
    number = float(argument.value) if kind.is_float else int(argument.value)
    return struct.pack(f"{'<' if sys.byteorder == 'little' else '>'}{kind.code}", number).ljust(8, b"\0")


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
    for place, expected in base.arrays.items():
        argument = harness.arguments[place]
        assert isinstance(argument, Array)
        if differing := _differing(argument.type, expected, found.arrays[place], tolerance):
            first, count, two = differing
            return Difference(place, _index(first, argument.shape), *two, count)
    if harness.returns is None:
        return None
    size = KINDS[harness.returns].size
    differing = _differing(harness.returns, base.returned[:size], found.returned[:size], tolerance)
    return None if differing is None else Difference(None, (), *differing[2], 1)


def _differing(
    name: Kind, expected: bytes, found: bytes, tolerance: Tolerance
) -> tuple[int, int, tuple[float, float]] | None:
    """The first element that differs, how many do, and the two values."""
    if expected == found:
        return None
    kind = KINDS[name]
    theirs, ours = array(kind.code, expected), array(kind.code, found)
    is_same: Callable[[float, float], bool] = operator.eq
    if kind.is_float:
        is_same = _is_equal if tolerance == Tolerance() else partial(_is_close, tolerance)
    pairs = enumerate(zip(theirs, ours, strict=True))
    places = [place for place, (one, two) in pairs if not is_same(one, two)]
    return (places[0], len(places), (theirs[places[0]], ours[places[0]])) if places else None


def _is_equal(expected: float, found: float) -> bool:
    """Whether they have the same bits, or are both no number."""
    if expected != expected:
        return found != found
    return expected == found and math.copysign(1, expected) == math.copysign(1, found)


def _is_close(tolerance: Tolerance, expected: float, found: float) -> bool:
    if expected == found or (expected != expected and found != found):
        return True
    if abs(expected) == float("inf"):
        return False
    return abs(found - expected) <= max(tolerance.absolute, tolerance.relative * abs(expected))


def _index(place: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    index: list[int] = []
    for extent in reversed(shape):
        place, rest = divmod(place, extent)
        index.insert(0, rest)
    return tuple(index)
