"""`optctx time`: other options beside the base; what cannot be timed; and the kernels of examples/tuning."""

from __future__ import annotations

import json
import pathlib
import re
import shlex
from typing import Any

import pytest

from optctx.compiling import Job
from optctx.lab.command.main import main, parse
from optctx.lab.space import parse_space
from optctx.lab.timing import Bench, Compared, Interval, Measurement, Row, Timing, find_kernel, harness_of
from tests.support.rows import rows
from tests.support.timing_kernels import SUM, TOTAL, compiled
from tests.support.tuning_cases import HARNESS, LOOSE
from tests.support.tuning_cases import SUM as FLOATS

SCALAR = ["--set", "force-vector-width=1", "--set=-force-vector-interleave=1"]
QUICK = "seconds = 0.2\n"
QUICKER = "seconds = 0.01\n"  # where no figure counts


@pytest.fixture
def kernel(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """sum.ll with its harness beside it, in the current folder."""
    monkeypatch.chdir(tmp_path)
    pathlib.Path("sum.ll").write_text(SUM)
    pathlib.Path("sum_harness.py").write_text(TOTAL.replace("LENGTH", "2048") + QUICK)
    return "sum.ll"


@pytest.mark.usefixtures("few_rounds")
def test_each_row_says_what_it_comes_to(kernel: str, capfd: pytest.CaptureFixture[str]) -> None:
    """A gain that is confirmed stands on a page of the guide."""
    words = ["time", kernel, *SCALAR, "--against=-force-vector-width=8", "--format", "json"]
    main([*words, "--against=-inline-threshold=3", "--against=-force-vector-width=3"])
    found: dict[str, Any] = json.loads(capfd.readouterr().out)
    wide, same, crashed = found["rows"]
    assert wide["options"] == ["-force-vector-interleave=1", "-force-vector-width=8"]
    assert wide["timing"]["ratio"]["low"] > 0
    assert (same["verdict"], same["timing"]["ratio"]) == ("the same code", None)
    assert crashed["timing"]["state"] == "crashed"
    assert "VF needs to be a power of two" in crashed["timing"]["error"]


def test_what_was_measured_once_is_printed_after_ctrl_c(
    kernel: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*arguments: object, **more: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("optctx.lab.timing.Bench.confirm", interrupted)
    assert main(["time", kernel, *SCALAR, "--against=-force-vector-width=8"]) == 130
    printed = capfd.readouterr()
    assert "faster, not confirmed" in printed.out
    assert "no gain is confirmed" in printed.out
    assert printed.err == "optctx: interrupted; what was not measured twice is not confirmed\n"


def test_a_gain_that_is_not_measured_again_is_none(
    kernel: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = Interval(1.0, 0.99, 1.01)
    again = Measurement(one, one, {"candidate": Timing("ok", "", one, one)})
    monkeypatch.setattr("optctx.lab.timing.Bench.confirm", lambda *given: again)
    assert main(["time", kernel, *SCALAR, "--against=-force-vector-width=8"]) == 1
    assert "faster once, not confirmed" in capfd.readouterr().out


def test_a_row_shows_the_second_measurement() -> None:
    noise, first = Interval(1.0, 0.99, 1.01), Interval(2.0, 1.5, 2.5)
    seconds = Interval(1e-6, 9e-7, 2e-6)
    second = Timing("ok", "", seconds, Interval(1.8, 1.7, 1.9))
    rows = (
        Row(("-a",), "faster, confirmed", Timing("ok", "", seconds, first), second, gain=True),
        Row(("-b",), "no difference", Timing("ok", "", seconds, noise)),
    )
    base, one, two = Compared((), seconds, noise, rows).table().rows
    assert base == ("base", "1.000 (0.990 to 1.010)", "1 µs (0.9 to 2)", "no options")
    assert one == ("faster, confirmed", "1.800 (1.700 to 1.900)", "1 µs (0.9 to 2)", "-a")
    assert two is not None
    assert two[1] == "1.000 (0.990 to 1.010)"


@pytest.mark.usefixtures("few_rounds")
def test_an_output_that_differs_is_said_and_a_tolerance_allows_it(
    tmp_path: pathlib.Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "floats.ll"
    file.write_text(FLOATS)
    (tmp_path / "floats_harness.py").write_text(HARNESS + QUICKER)
    words = ["time", str(file), *SCALAR, "--against=-force-vector-width=8"]
    assert main(words) == 1
    assert "wrong result: the returned value is " in capfd.readouterr().out
    (tmp_path / "floats_harness.py").write_text(HARNESS + QUICKER + LOOSE)
    main(words)
    assert "wrong result" not in capfd.readouterr().out


AGAINST = "--against=-unroll-count=2"


@rows(
    ("words", "expected"),
    [
        ([], "required: --against"),
        (["--set", "force-vector-width=3", AGAINST], "cannot compile the base: "),
        ([AGAINST, "--harness=none.py"], "/none.py': it raises FileNotFoundError: "),
    ],
)
def test_what_cannot_be_timed_is_one_line(
    words: list[str], expected: str, kernel: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["time", kernel, *words]) == 2
    error = capfd.readouterr().err
    assert expected in error
    assert error.count("\n") == 1, error


# examples/tuning

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
