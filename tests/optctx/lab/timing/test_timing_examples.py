"""The kernels of examples/tuning: their harnesses fit, and options matter for them."""

from __future__ import annotations

import pathlib
import re
import shlex

import pytest

from optctx.compiling import Job
from optctx.lab.command.main import main
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


def commands(page: pathlib.Path) -> list[list[str]]:
    """The words of each `optctx tune` of a page, without `optctx`."""
    blocks = "".join(re.findall(r"^```sh\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE))
    lines = blocks.replace("\\\n", "").splitlines()
    return [shlex.split(line)[1:] for line in lines if line.startswith("optctx tune")]


@pytest.mark.parametrize("command", commands(EXAMPLES / "README.md"), ids=lambda command: command[1])
@pytest.mark.long
def test_a_command_of_the_page_finds_a_gain_or_none_and_goes_on(
    command: list[str],
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """With a few trials: which gain is found depends on the machine."""
    name = command[1]
    for each in (EXAMPLES / name, EXAMPLES / name.replace(".ll", "_harness.py")):
        (tmp_path / each.name).write_bytes(each.read_bytes())
    monkeypatch.chdir(tmp_path)
    for trials in ("2", "3"):
        assert main([*command, "--trials", trials]) == 0
        said = capfd.readouterr().out.splitlines()
        counted = said.index(f"{trials} trials; ended after {trials} trials")
        assert re.search("confirmed|no gain", said[counted - 1])
    assert pathlib.Path(command[-1]).stat().st_size > 1_000
