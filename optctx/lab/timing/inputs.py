"""The bytes of a harness's arrays, and the words of its arguments.

Random numbers come from `random.Random(seed).random()`, the Mersenne Twister whose sequence Python's
documentation promises to keep. The same harness gives the same bytes on every machine and release.
"""

from __future__ import annotations

import random
import struct
import sys
from array import array

from optctx.lab.timing.harness import Array, Value
from optctx.lab.timing.kinds import KINDS

__all__ = ["array_bytes", "value_word"]

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
