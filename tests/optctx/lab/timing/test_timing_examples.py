"""The kernels of examples/tuning: their harnesses fit, and options matter for them."""

from __future__ import annotations

import pathlib
import re
import shlex

from optctx.compiling import Job
from optctx.lab.command.main import parse
from optctx.lab.space import parse_space
from optctx.lab.timing import Bench, Timing, find_kernel, harness_of
from tests.support.rows import rows
from tests.support.timing_kernels import compiled

EXAMPLES = pathlib.Path(__file__).parents[4] / "examples" / "tuning"
OPTIONS = {
    "matmul": "-unroll-count=8",
    "stencil": "-force-vector-interleave=8",
    "hash": "-force-vector-width=8",
}


@rows("name", OPTIONS)
def test_options_change_the_code_of_an_example_and_not_what_it_does(name: str) -> None:
    ir = (EXAMPLES / f"{name}.ll").read_text()
    kernel = find_kernel(Job(ir), harness_of(str(EXAMPLES / f"{name}_harness.py")), f"{name}.ll")
    base, other = compiled(ir), compiled(ir, OPTIONS[name])
    assert base != other
    assert Bench(base, kernel).check({"other": other}) == {"other": Timing("ok")}


def test_the_commands_of_the_page_are_taken() -> None:
    text = (EXAMPLES / "README.md").read_text()
    blocks = "".join(re.findall(r"^```sh\n(.*?)^```$", text, re.DOTALL | re.MULTILINE))
    lines = [line for line in blocks.replace("\\\n", "").splitlines() if line.startswith("optctx tune")]
    assert len(lines) == len(OPTIONS)
    for line in lines:
        given = parse(shlex.split(line)[1:])
        assert (EXAMPLES / given.file).exists()
        assert parse_space(given.tries).dimensions
