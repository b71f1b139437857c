"""What a candidate left, compared with what the base left on the same inputs."""

from __future__ import annotations

from array import array

from optctx.lab.timing.harness import Array, Harness
from optctx.lab.timing.kinds import KINDS, Kind
from optctx.lab.timing.memory import Outputs
from optctx.lab.timing.results import Difference, Tolerance

__all__ = ["compare"]


def compare(harness: Harness, base: Outputs, found: Outputs, tolerance: Tolerance) -> Difference | None:
    """The first difference, if any: a write beyond an array, an element, or the returned value."""
    if found.outside >= 0:
        return Difference(found.outside, (), 0, 0, 0, outside=True)
    for place, expected in base.arrays.items():
        argument = harness.arguments[place]
        assert isinstance(argument, Array)
        differing = _differing(argument.type, expected, found.arrays[place], tolerance)
        if differing is not None:
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
    size = kind.size
    if not kind.is_float:
        places = [place for place, (one, two) in enumerate(zip(theirs, ours, strict=True)) if one != two]
    elif tolerance == Tolerance():
        places = [
            place
            for place, (one, two) in enumerate(zip(theirs, ours, strict=True))
            if expected[place * size : (place + 1) * size] != found[place * size : (place + 1) * size]
            and not (one != one and two != two)
        ]
    else:
        places = [
            place
            for place, (one, two) in enumerate(zip(theirs, ours, strict=True))
            if not _is_close(one, two, tolerance)
        ]
    return (places[0], len(places), (theirs[places[0]], ours[places[0]])) if places else None


def _is_close(expected: float, found: float, tolerance: Tolerance) -> bool:
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
