"""`optctx tune FILE` alone, and what it ends with."""

from __future__ import annotations

import pathlib

import pytest

from optctx.lab.command.main import main
from optctx.lab.trial import Goal, Trial
from optctx.lab.tuning import Tuned
from tests.support.processes import run_python
from tests.support.tuning_cases import SUM

KERNEL = """
void scale(float *restrict a, const float *restrict b, float k, long n) {
  for (long i = 0; i < n; i++) a[i] += k * b[i];
}
"""
TRY = ["--try", "unroll-count=1,2,4", "--try", "force-vector-width=1,4", "--sampler", "grid"]


@pytest.mark.long
def test_a_goal_that_calls_needs_a_harness_and_prints_one(
    tmp_path: pathlib.Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "sum.ll").write_text(SUM)
    assert main(["tune", str(tmp_path / "sum.ll"), "--try", "unroll-count=1,2", "--by", "time"]) == 2
    out, err = capfd.readouterr()
    assert 'entry = "sum"' in out
    assert err.startswith("optctx: cannot call 'sum': no harness says what to pass; fill in the printed one")


def test_the_tools_are_imported_on_first_use() -> None:
    code = (
        "import sys, optctx.lab as lab\n"
        "assert {'tune', 'Search'} <= set(dir(lab))\n"
        "assert not [name for name in sys.modules if name.startswith('optctx.lab.')]"
    )
    run_python(code)


def test_a_notebook_shows_whole_options() -> None:
    trial = Trial(7, {"unroll-count": "<4>", "other": "1"}, "verify", "ok", {"size": 8.0})
    base, goals = Trial(-1, {}, "verify", "ok", {"size": 9.0}), (Goal("size", "object bytes"),)
    found = Tuned(goals, base, (trial,), "tpe", (), ("verify",), {}, {}, ended="1 trial")
    assert "<td>7</td><td>8</td><td>&lt;4&gt;</td><td>1</td>" in found._repr_html_()
