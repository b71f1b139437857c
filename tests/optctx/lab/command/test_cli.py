"""The command line: its help, its version, its flags, and what it says of an LLVM."""

from __future__ import annotations

import contextlib
import importlib.metadata
import io
import json
import pathlib
import re
import shlex
import sys
from collections import Counter

import pytest

import optctx
from optctx import OptionContext
from optctx.compiling import Job
from optctx.lab.command.groups import Base, Input
from optctx.lab.command.main import COMMANDS, main, make_parser
from optctx.lab.repeat import target_of, tool_target
from tests.support.alone import alone
from tests.support.ir_texts import COUNTED, UNROLL, X86
from tests.support.processes import output_of
from tests.support.rows import rows


def test_info_is_json_and_the_page_of_the_module_by_itself(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["info", "--format", "json"]) == 0
    found = json.loads(capfd.readouterr().out)
    image = found["images"][0]
    assert image["scopes"] == optctx.info()["images"][0]["scopes"]
    lines = output_of(sys.executable, "-m", "optctx").splitlines()
    assert {f"cache folder: {found['cache_folder']}", "scope reaches: thread"} <= set(lines)
    assert len(lines) < 80
    for reason, count in Counter(image["refused_options"].values()).items():
        assert [each for each in lines if each.startswith(f"  {reason}: {count}: ")]


@rows("words", [[], ["--help"], *([name, "--help"] for name in COMMANDS)])
def test_every_help_text_has_an_example_that_the_parser_takes(
    words: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as raised:
        main(words)
    assert raised.value.code == 0
    out, err = capfd.readouterr()
    assert err == ""
    *command, _ = words or ["--help"]
    assert command or all(re.search(rf"^    {name} +\w", out, re.MULTILINE) for name in COMMANDS)
    examples = out.partition("\nexample")[2]
    lines = [line.strip() for line in examples.splitlines()[1:]]
    parser, _ = make_parser()
    for line in lines:
        parser.parse_args(shlex.split(line.partition(" > ")[0])[1:])  # raises OptctxError
    assert any(line.startswith(shlex.join(["optctx", *command])) for line in lines)


def test_the_version_is_that_of_the_installed_package(capfd: pytest.CaptureFixture[str]) -> None:
    for flag in ("--version", "-V"):
        with pytest.raises(SystemExit) as raised:
            main([flag])
        assert raised.value.code == 0
        assert capfd.readouterr() == (f"optctx {importlib.metadata.version('optctx')}\n", "")


# Flags that commands share

pytestmark = pytest.mark.usefixtures("attached")


def test_a_setting_is_written_as_opt_and_as_python_write_it() -> None:
    given = Base(("unroll-count=4", "-inline-threshold=7", "--unroll-runtime", "vplan-verify-each=true"))
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
    assert Input("sroa").under(base).job(counted).passes == "sroa"
    # Judged as the command's own: the compilation reads the one and not the other.
    assert main(["record", counted, f"--llc=-mtriple={X86}", "--load", str(best), "--format", "json"]) == 0
    found = json.loads(capfd.readouterr().out)
    assert {each["name"]: each["values"] for each in found["read"]}["unroll-count"] == [2]
    assert [each["name"] for each in found["unread"]] == ["hexagon-bit"]


def test_a_target_is_read_as_llc_takes_it() -> None:
    words = [f"-mtriple={X86}", "-mcpu=haswell", "-mattr=+avx,-fma"]
    words += ["-relocation-model=dynamic-no-pic", "-code-model=large"]
    target = Job("", **target_of(" ".join([*words, "-O0"])))
    assert (tool_target(target), target.opt_level) == (words, 0)


NOISY = 'define void @f{0}() "target-features"="+no{0}" {{\n  ret void\n}}\n'


def test_of_what_llvm_prints_the_most_frequent_lines_are_said(
    tmp_path: pathlib.Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "noisy.ll").write_text("".join(map(NOISY.format, range(30))))
    assert main(["record", str(tmp_path / "noisy.ll"), f"--llc=-mtriple={X86}"]) == 0
    *lines, last = capfd.readouterr().err.splitlines()
    assert len(lines) == 20
    assert re.fullmatch(r"optctx: LLVM printed \d+ other lines", last)


def test_the_command_line_has_at_most_25_flags() -> None:
    _, commands = make_parser()
    arguments = [each for command in commands.choices.values() for each in command._actions]
    forms = {flag for each in arguments for flag in each.option_strings if flag.startswith("--")}
    for name, command in commands.choices.items():
        own = [each for each in command._actions if "--help" not in each.option_strings]
        assert len(own) <= 18, (name, [each.dest for each in own])
    assert len(forms - {"--help"}) <= 25, sorted(forms)


@alone
def test_only_the_given_command_is_imported() -> None:
    with contextlib.redirect_stdout(io.StringIO()):
        assert main(["options", "unroll-count"]) == 0
    tools = ("optctx.lab.sweep", "optctx.lab.tuning", "optctx.lab.timing", "optuna")
    found = [name for name in sys.modules if name.endswith("_command") or name.startswith(tools)]
    assert found == ["optctx.lab.command.options_command"]
