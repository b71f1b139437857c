"""Outputs compared: exactly, or within a tolerance for floats."""

from __future__ import annotations

from array import array

import pytest

from optctx.errors import OptctxError
from optctx.lab.timing import Array, Difference, Harness, Tolerance, Value
from optctx.lab.timing.arrays import Outputs, compare
from tests.support.rows import rows

NAN, INF = float("nan"), float("inf")
FLOATS = Harness("f", (Value(1), Array("f64", (2, 3), output=True)))
INTEGERS = Harness("f", (Array("i32", (4,), output=True),), "i32")


def floats(*numbers: float) -> Outputs:
    return Outputs(bytes(8), {1: array("d", numbers).tobytes()})


def integers(returned: int, *numbers: int) -> Outputs:
    return Outputs(returned.to_bytes(4, "little", signed=True) + b"junk", {0: array("i", numbers).tobytes()})


BASE = floats(1, 2, 3, NAN, INF, 0)


def test_equal_outputs_are_equal() -> None:
    assert compare(FLOATS, BASE, BASE, Tolerance()) is None
    assert compare(FLOATS, BASE, floats(1, 2, 3, -NAN, INF, 0), Tolerance()) is None
    assert compare(INTEGERS, integers(-1, 1, 2, 3, 4), integers(-1, 1, 2, 3, 4), Tolerance()) is None


def test_the_first_difference_is_told_with_its_place() -> None:
    found = compare(FLOATS, BASE, floats(1, 2, 3, NAN, 7, 1e-30), Tolerance())
    assert found == Difference(1, (1, 1), INF, 7.0, 2)
    assert str(found) == "argument 2[1, 1] is 7.0, and the base leaves inf; 2 elements differ"
    found = compare(INTEGERS, integers(5, 1, 2, 3, 4), integers(-5, 1, 2, 3, 4), Tolerance(1, 1))
    assert found == Difference(None, (), 5, -5, 1)
    assert str(found) == "the returned value is -5, and the base returns 5"


@rows(
    ("found", "tolerance", "differs"),
    [
        (floats(1, 2, 3, NAN, INF, -0.0), Tolerance(), True),  # bytes
        (floats(1, 2, 3, NAN, INF, -0.0), Tolerance(relative=1e-9), False),
        (floats(1 + 1e-7, 2, 3, NAN, INF, 0), Tolerance(relative=1e-6), False),
        (floats(1 + 1e-5, 2, 3, NAN, INF, 0), Tolerance(relative=1e-6), True),
        (floats(1, 2, 3, NAN, INF, 1e-7), Tolerance(relative=1e-6), True),  # relative to 0
        (floats(1, 2, 3, NAN, INF, 1e-7), Tolerance(absolute=1e-6), False),
        (floats(1, 2, 3, 0, INF, 0), Tolerance(relative=1e9, absolute=1e9), True),
        (floats(1, 2, NAN, NAN, INF, 0), Tolerance(relative=1e9, absolute=1e9), True),
        (floats(1, 2, 3, NAN, -INF, 0), Tolerance(relative=1e9, absolute=1e9), True),
        (floats(1, 2, 3, NAN, 1e300, 0), Tolerance(relative=1e9, absolute=1e9), True),
        (floats(1, 2, INF, NAN, INF, 0), Tolerance(relative=1e9, absolute=1e9), True),
    ],
)
def test_a_tolerance_is_for_numbers(found: Outputs, tolerance: Tolerance, differs: bool) -> None:
    assert (compare(FLOATS, BASE, found, tolerance) is not None) == differs


def test_integers_have_no_tolerance() -> None:
    found = compare(INTEGERS, integers(0, 1, 2, 3, 4), integers(0, 1, 2, 3, 5), Tolerance(1, 1))
    assert found == Difference(0, (3,), 4, 5, 1)


def test_a_tolerance_is_a_number_that_is_not_negative() -> None:
    for bound in (-1, NAN, INF, "1"):
        with pytest.raises(OptctxError, match="a tolerance is a number that is not negative"):
            Tolerance(relative=bound)  # type: ignore[arg-type]
