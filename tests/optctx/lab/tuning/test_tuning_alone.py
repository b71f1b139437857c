"""`optctx tune FILE` alone, and what it ends with."""

from __future__ import annotations

import pathlib
import re
import shutil
from dataclasses import replace

import pytest

from optctx import OptionContext
from optctx.compiling import FreshProcess, Job
from optctx.lab.command import tune_command
from optctx.lab.command.inputs import read_input
from optctx.lab.command.main import main
from optctx.lab.space import parse_dimension
from optctx.lab.trial import Goal, Trial
from optctx.lab.tuning import Tuned
from optctx.process import all_arguments
from tests.support.ir_texts import SCALE

KERNEL = """
void scale(float *restrict a, const float *restrict b, float k, long n) {
  for (long i = 0; i < n; i++) a[i] += k * b[i];
}
"""
HARNESS = """
from array import array
def arguments():
    return array("f", range(1000)), array("f", range(1000)), 2.0, 1000
seconds = 0.1
"""
TRY = ["--try", "unroll-count=1,2,4", "--try", "force-vector-width=1,4"]


@pytest.mark.long
@pytest.mark.skipif(not shutil.which("clang"), reason="needs clang (Debian: clang)")
def test_a_file_is_enough(
    tmp_path: pathlib.Path, fresh: FreshProcess, capfd: pytest.CaptureFixture[str]
) -> None:
    """It proposes, goes by size, names the fewest options, and goes by time where there is a harness."""
    source, kept, best = (tmp_path / name for name in ("scale.c", "night.journal", "best.toml"))
    source.write_text(KERNEL)
    words = ["tune", str(source), "--trials", "30", "--storage", str(kept)]
    assert main([*words, "--best", str(best)]) == 0
    out, err = capfd.readouterr()
    assert "optctx: trying 8 options that change the size: " in err
    named = re.search(r"^best by size: (-\S+(?: -\S+)*) \(-", out, re.MULTILINE)
    assert named is not None
    assert sorted(named[1].split()) == sorted(all_arguments(OptionContext.load(best)))
    # Without any one of them it is worse, in fresh processes.
    job = Job(read_input(str(source), Job("")))
    code = fresh.compile(replace(job, options=tuple(named[1].split()))).code
    for left in named[1].split():
        fewer = tuple(each for each in named[1].split() if each != left)
        assert len(fresh.compile(replace(job, options=fewer)).code) > len(code)
    (tmp_path / "scale_harness.py").write_text(HARNESS)
    assert main(["tune", str(source), *TRY]) == 0
    assert "times the base" in capfd.readouterr().out


def test_a_search_over_proposed_options_goes_on_with_them(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Also where there is an empty file."""
    source, kept = tmp_path / "scale.ll", tmp_path / "night.journal"
    source.write_text(SCALE)
    kept.touch()
    proposed = [parse_dimension("force-vector-width=1,4")]
    monkeypatch.setattr(tune_command, "propose", lambda *given, **named: proposed)
    words = ["tune", str(source), "--by", "size", "--storage", str(kept)]
    assert main(words) == 0
    monkeypatch.delattr(tune_command, "propose")
    assert main([*words, "--format", "json"]) == 0
    assert main([*words, "--try", "unroll-count=1,2,4"]) == 2
    expected = "its trials differ in space; repeat its arguments, or name another storage"
    assert expected in capfd.readouterr().err


def test_a_change_is_told_of_a_base_of_any_sign() -> None:
    goal = Goal("command", "")
    for base, best, change in ((10.0, 5.0, "-50.0%"), (-10.0, -15.0, "-50.0%"), (0.0, -5.0, "")):
        one, other = (Trial(number, {}, "ok", each) for number, each in ((-1, base), (0, best)))
        lines = tune_command.summary(Tuned(goal, one, (other,), "1 trial"))
        assert lines[0] == f"best by command: no options{change and f' ({change})'}"


def test_it_ends_with_a_line_for_each_tool_and_a_file_of_the_fewest_options(
    tmp_path: pathlib.Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "scale.ll").write_text(SCALE)
    best = tmp_path / "best.toml"
    words = ["tune", str(tmp_path / "scale.ll"), *TRY, "--set", "enable-gvn-hoist", "--passes", "default<O2>"]
    assert main([*words, "--best", str(best)]) == 0
    lines = capfd.readouterr().out.splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith("best by size: "))
    found, counts, clang, *_, tools, numba, kept = lines[start:]
    assert re.fullmatch(r"best by size: -force-vector-width=1 \(-[\d.]+%\)", found)
    assert counts == "6 trials; ended: every point of the space was tried"
    given = "-enable-gvn-hoist -mllvm -force-vector-width=1"
    assert clang.startswith(f"clang: clang -O2 -fPIC -mllvm {given} -c -o scale.o -- ")
    given = f"-relocation-model=pic {given.replace('-mllvm ', '')}"
    assert tools.startswith(f"opt and llc: opt '-passes=default<O2>' {given} -o scale.opt.bc ")
    options = "{'enable-gvn-hoist': 'true', 'force-vector-width': '1'}"
    assert numba == f"Numba: @optctx.numba.njit(options={options})"
    assert kept == f"the best set is in {best}, for --load"
    assert dict(OptionContext.load(best).overrides) == {"force-vector-width": 1}
