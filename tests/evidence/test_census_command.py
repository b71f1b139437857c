"""`python -m evidence census`: what it prints and draws, and what it counts."""

from __future__ import annotations

import pathlib
import re

import pytest

from evidence.census import command as census_command
from evidence.census.counts import flags, totals
from evidence.main import main
from optctx.facts import Facts, facts
from tests.support.rows import rows


@pytest.fixture(scope="module")
def taken() -> Facts:
    return facts()


def test_what_constructors_read(taken: Facts) -> None:
    found = {option.name: flags(option) for option in taken.options}
    assert "read only in constructors" in found["x86-asm-syntax"]  # X86MCAsmInfo.cpp
    assert "read in constructors" in found["forget-scev-loop-unroll"]  # PipelineTuningOptions()
    assert "read in constructors" not in found["inline-threshold"]
    assert "readers not known" in found["debug-only"]


def test_it_prints_a_line_for_each_option_and_totals(
    taken: Facts, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(census_command, "facts", lambda: taken)
    assert main(["census", "--options", "unroll-*"]) == 0
    table = capfd.readouterr().out
    assert re.search(
        r"^unroll-count +uint +internal +ScalarOpts +1 .* occurrences queried$", table, re.MULTILINE
    )
    assert "x86-asm-syntax" not in table
    assert main(["census", "--totals"]) == 0
    printed = capfd.readouterr().out
    assert all(
        re.search(rf"^  {flag} +{count}$", printed, re.M) for flag, count in totals(taken)["flags"].items()
    )


@pytest.mark.long
def test_the_plot_is_drawn(
    taken: Facts, tmp_path: pathlib.Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(census_command, "facts", lambda: taken)
    path = tmp_path / "census.svg"
    assert main(["census", "--totals", "--plot", str(path)]) == 0
    assert "CodeGen" in path.read_text()
    assert capfd.readouterr().err == ""


@rows(
    ("words", "answer"),
    [
        (["--options", "unrol-count"], "no option matches"),
        (["--plot", "census.gif"], "expected a name that ends with .png, .svg, .pdf"),
    ],
)
def test_words_that_do_not_fit_get_one_clear_error(
    taken: Facts,
    words: list[str],
    answer: str,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(census_command, "facts", lambda: taken)
    assert main(["census", *words]) == 2
    out, err = capfd.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert answer in err
