"""--timeout and --seconds hold for every compilation of a command, the first ones too."""

from __future__ import annotations

import pathlib

import pytest

from optctx import OptionContext
from optctx.compiling import Job
from optctx.errors import OptctxError
from optctx.lab.experiment import Experiment, make_plan
from optctx.lab.outcome import Limits
from tests.support.command_lines import command_line
from tests.support.endless import LIST, SCALED, endless
from tests.support.tuning_cases import TINY

# Within the usual limit of 120 s, which would hold without them.
TOO_LONG = "took longer than 1 s"
TRIED = "--try=unroll-count=1,2"


# Each gets to its first compilation in another way.
COMMANDS = [
    ["rank", "--only=unroll-count", "--seconds=1"],
    ["sweep", TRIED, "--timeout=1"],
    ["tune", TRIED, "--seconds=1"],
    ["tune", "--seconds=1"],  # which ranks options first
    ["time", "--against=-unroll-count=2", "--timeout=1"],
]


@pytest.mark.parametrize(
    "words", [COMMANDS[0], *(pytest.param(e, marks=pytest.mark.long) for e in COMMANDS[1:])]
)
def test_a_base_that_never_ends_is_cut_off(words: list[str], tmp_path: pathlib.Path) -> None:
    (tmp_path / "one.ll").write_text(TINY)
    command, *more = words
    base = [str(tmp_path / "one.ll"), f"--set={LIST}={endless(tmp_path)}", f"--passes={SCALED}"]
    ended = command_line(command, *base, *more)
    assert TOO_LONG in ended.out + ended.err
    assert ended.status == (0 if command == "sweep" else 2), ended.err


def test_the_recorded_compilation_is_cut_off(tmp_path: pathlib.Path) -> None:
    with OptionContext.from_args([f"-{LIST}={endless(tmp_path)}"]):
        plan = make_plan(Job(TINY, SCALED), Limits(timeout=1.0))
    with (
        Experiment(plan) as experiment,
        pytest.raises(OptctxError, match=f"cannot record what LLVM reads: it {TOO_LONG}"),
    ):
        experiment.recorded()


def test_no_compilation_takes_longer_than_the_whole_run() -> None:
    for limits, base, expected in (
        (Limits(), None, 120.0),
        (Limits(), 1.0, 20.0),
        (Limits(timeout=3.0), 1.0, 3.0),
        (Limits().within(7.0), None, 7.0),
        (Limits().within(7.0), 1.0, 7.0),
        (Limits().within(70.0), 0.1, 10.0),
        (Limits(timeout=3.0).within(7.0), 1.0, 3.0),
        (Limits(timeout=30.0).within(None), 1.0, 30.0),
    ):
        assert limits.seconds(base) == expected, (limits, base)
    assert [Limits(timeout=3.0).within(each).seconds(1.0, 3) for each in (7.0, None)] == [7.0, 9.0]
