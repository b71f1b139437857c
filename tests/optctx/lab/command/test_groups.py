"""Flags that commands share: what they mean, where output goes, and how much is said beside it."""

from __future__ import annotations

import contextlib
import io
import json
import pathlib
import re
import sys

import pytest
from rich.console import Console

from optctx import OptionContext
from optctx.lab.command.groups import Base, Input
from optctx.lab.command.main import main, make_parser, parse
from optctx.lab.rich_table import Table
from tests.support.alone import alone
from tests.support.ir_texts import COUNTED, UNROLL, X86
from tests.support.rows import rows

pytestmark = pytest.mark.usefixtures("attached")


def test_a_setting_is_written_as_opt_and_as_python_write_it() -> None:
    given = Base(("unroll-count=4", "-inline-threshold=7", "--unroll-runtime", "vplan-verify-each = true"))
    assert dict(given.context().overrides) == {
        "unroll-count": 4,
        "inline-threshold": 7,
        "unroll-runtime": True,
        "vplan-verify-each": True,
    }
    assert Base(tuple(given.context().args())).context() == given.context()


def test_options_of_a_file_count_below_those_of_the_command_line(
    tmp_path: pathlib.Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "counted.ll").write_text(COUNTED)
    counted, best = str(tmp_path / "counted.ll"), tmp_path / "best.toml"
    OptionContext({"unroll-count": 2, "hexagon-bit": False}).save(best, passes=UNROLL)
    base = Base(("unroll-count=4",), str(best))
    assert dict(base.context().overrides) == {"unroll-count": 4, "hexagon-bit": False}
    assert Input().under(base).job(counted).passes == UNROLL
    assert Input(("sroa",)).under(base).job(counted).passes == "sroa"
    # Judged as the command's own: the compilation reads the one and not the other.
    assert main(["record", counted, f"--llc=-mtriple={X86}", "--load", str(best), "--format", "json"]) == 0
    found = json.loads(capfd.readouterr().out)
    assert {each["name"]: each["values"] for each in found["read"]}["unroll-count"] == [2]
    assert [each["name"] for each in found["unread"]] == ["hexagon-bit"]


@rows(
    ("words", "name"),
    [
        ("sweep x --try", "tries"),
        ("record x --set", "settings"),
        ("time x --against", "against"),
        ("tune x --llc", "llc"),
    ],
)
def test_what_begins_with_a_dash_behind_such_a_flag_is_its_value(words: str, name: str) -> None:
    found = getattr(parse([*words.split(), "-unroll-count=4"]), name)
    assert found in ("-unroll-count=4", ["-unroll-count=4"])


NOISY = 'define void @f{0}() "target-features"="+no{0}" {{\n  ret void\n}}\n'


def test_quiet_and_verbose_say_less_and_more_of_what_llvm_prints(
    tmp_path: pathlib.Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "noisy.ll").write_text("".join(map(NOISY.format, range(30))))
    said = {}
    for flag in ("-q", "-v", "--format=table"):
        assert main(["record", str(tmp_path / "noisy.ll"), f"--llc=-mtriple={X86}", flag]) == 0
        said[flag] = capfd.readouterr().err.splitlines()
    assert said["-q"] == []
    assert len(said["-v"]) >= 30
    assert said["--format=table"][-1].endswith("-v shows them")
    assert len(said["--format=table"]) == 21


@rows("ruled", [False, True])
def test_a_narrow_terminal_does_without_columns_and_breaks_no_word(ruled: bool) -> None:
    row = ("unroll-count", "4", "0123456789abcdef" * 2, "failed")
    headings = ("option", "value", "digest", "error")
    made = Table(headings, [row, None], whole=("option",), least=("digest", "error"), ruled=ruled)

    def printed(width: int, made: Table = made) -> list[list[str]]:
        text = io.StringIO()
        Console(file=text, width=width).print(made.fitted(width))
        assert max(map(len, text.getvalue().splitlines())) <= width
        lines = [re.split(" {2,}|[\u2502\u2503]", line) for line in text.getvalue().splitlines()]
        found = [[cell.strip() for cell in line if cell.strip()] for line in lines]
        return [line for line in found if "\u2501" not in line[0] and "\u2500" not in line[0]]

    assert [headings[0], headings[1], headings[3]] in printed(60)
    assert [row[0], row[1], row[3]] in printed(60)
    assert list(row) in printed(200)
    for width in range(33, 90):
        words = {word for line in printed(width) for word in line}
        assert {headings[0], row[0], row[1], row[3]} <= words <= {*headings, *row}, width
    folded = Table(headings[:1], [row[:1]], whole=headings[:1], ruled=ruled)
    assert "".join(word for [word] in printed(10, folded)) == headings[0] + row[0]


def test_the_command_line_has_at_most_25_flags() -> None:
    _, commands = make_parser()
    arguments = [each for command in commands.choices.values() for each in command.arguments]
    forms = {flag for each in arguments for flag in each.option_strings if flag.startswith("--")}
    talk = {"--help", "--quiet", "--verbose"}
    for name, command in commands.choices.items():
        own = [each for each in command.arguments if talk.isdisjoint(each.option_strings)]
        assert len(own) <= 18, (name, [each.dest for each in own])
    assert len(forms - {"--help"}) <= 25, sorted(forms)


@alone
def test_only_the_given_command_is_imported() -> None:
    with contextlib.redirect_stdout(io.StringIO()):
        assert main(["options", "unroll-count"]) == 0
    tools = ("optctx.lab.sweep", "optctx.lab.tuning", "optctx.lab.timing", "optuna")
    found = [name for name in sys.modules if name.endswith("_command") or name.startswith(tools)]
    assert found == ["optctx.lab.command.options_command"]
