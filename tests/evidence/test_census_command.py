"""`python -m evidence census`: what it prints, compares and draws."""

from __future__ import annotations

import csv
import io
import json
import pathlib
import re
from dataclasses import replace

import pytest

from evidence.census import command as census_command
from evidence.main import main
from optctx.lab.census import Census, census, census_as_json, load_census
from tests.support.census_files import HEAD, OPTION


@pytest.fixture(scope="module")
def taken() -> Census:
    return census()


def test_the_command_prints_what_the_function_returns(
    taken: Census, tmp_path: pathlib.Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["census", "--format", "json"]) == 0
    printed = capfd.readouterr().out
    assert load_census(printed.encode(), "it") == taken
    assert json.loads(printed)["totals"] == taken.totals
    monkeypatch.setattr(census_command, "census", lambda: taken)
    assert main(["census", "--format", "csv"]) == 0
    rows = {row["name"]: row for row in csv.DictReader(io.StringIO(capfd.readouterr().out))}
    assert rows["unroll-count"]["occurrences_queried"] == "true"
    assert len(rows) == len(taken.options)
    assert main(["census", "--options", "unroll-*"]) == 0
    table = capfd.readouterr().out
    assert re.search(r"^unroll-count +uint +internal +ScalarOpts +1 ", table, re.MULTILINE)
    assert "x86-asm-syntax" not in table
    (tmp_path / "old.json").write_text(printed)
    (tmp_path / "new.json").write_text(
        census_as_json(
            replace(
                taken,
                options=tuple(
                    replace(facts, default="9") if facts.name == "unroll-count" else facts
                    for facts in taken.options
                ),
            )
        )
    )
    assert main(["census", str(tmp_path / "old.json"), str(tmp_path / "new.json")]) == 0
    assert re.search(r"^default +unroll-count +0 +9$", capfd.readouterr().out, re.MULTILINE)
    files = [str(tmp_path / "new.json"), str(tmp_path / "old.json")]
    assert main(["census", *files, "--format", "json"]) == 0
    [change] = json.loads(capfd.readouterr().out)["changes"]
    assert change == {"name": "unroll-count", "what": "default", "old": "9", "new": "0"}


def test_the_plot_is_drawn(
    taken: Census, tmp_path: pathlib.Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(census_command, "census", lambda: taken)
    path = tmp_path / "census.svg"
    assert main(["census", "--totals", "--plot", str(path)]) == 0
    assert "CodeGen" in path.read_text()
    assert capfd.readouterr().err == ""


def test_no_byte_of_a_file_acts_on_a_terminal(
    tmp_path: pathlib.Path, capfd: pytest.CaptureFixture[str]
) -> None:
    evil = "\x1b]0;owned\x07\u202e\u009b31m\nline"
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    old.write_text(json.dumps({**HEAD, "library": evil, "options": []}))
    new.write_text(json.dumps({**HEAD, "llvm": evil, "options": [{**OPTION, "name": evil, "names": [evil]}]}))
    assert main(["census", str(old), str(new)]) == 0
    out, err = capfd.readouterr()
    assert err == ""
    assert out.count("\\x1b]0;owned") == 3
    assert [each for each in out if not each.isprintable() and each != "\n"] == []


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["old.json"], "expected two files to compare, found 1"),
        (["--options", "unrol-count"], "no option matches"),
        (["a.json", "b.json", "--plot", "a.png"], "leave out --plot"),
        (["a.json", "b.json", "--format", "csv"], "use --format json"),
        (["--plot", "census.gif"], "expected a name that ends with .png, .svg, .pdf"),
        (["no.json", "no.json"], "there is no such file"),
    ],
)
def test_words_that_do_not_fit_get_one_clear_error(
    taken: Census,
    words: list[str],
    answer: str,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(census_command, "census", lambda: taken)
    assert main(["census", *words]) == 2
    out, err = capfd.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert answer in err
