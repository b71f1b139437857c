"""The kernels of examples/tuning: their harnesses fit, and options matter for them."""

from __future__ import annotations

import pathlib

import pytest
from timing_kernels import compiled

from optctx.timing import Harness, Outcome, Tolerance, check

EXAMPLES = pathlib.Path(__file__).parent.parent / "examples" / "tuning"
OPTIONS = {
    "matmul": ("-force-vector-interleave=4", "-unroll-count=8", "-force-vector-width=1"),
    "stencil": ("-force-vector-interleave=8", "-locally-hot-callsite-threshold=0", "-force-vector-width=8"),
    "hash": ("-force-vector-width=8", "-force-vector-interleave=4", "-unroll-count=8"),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_options_change_the_code_of_an_example_and_not_what_it_does(name: str) -> None:
    ir = (EXAMPLES / f"{name}.ll").read_text()
    harness = Harness.from_toml(EXAMPLES / f"{name}.toml")
    harness.check(ir)
    objects = {option: compiled(ir, option) for option in OPTIONS[name]}
    base = compiled(ir)
    assert len({base, *objects.values()}) == 4
    found = check(harness, base, objects, tolerance=Tolerance(1e-4, 1e-5))
    assert set(found.values()) == {Outcome("ok")}
