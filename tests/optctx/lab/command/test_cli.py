"""The command line: its help, its version, and what it says of an LLVM."""

from __future__ import annotations

import importlib.metadata
import json
import re
import shlex
import sys
from collections import Counter

import pytest

import optctx
from optctx.lab.command.main import COMMANDS, main, make_parser
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
        parser.parse_args(shlex.split(line.partition(" > ")[0])[1:])  # raises UsageError
    assert any(line.startswith(shlex.join(["optctx", *command])) for line in lines)


def test_the_version_is_that_of_the_installed_package(capfd: pytest.CaptureFixture[str]) -> None:
    for flag in ("--version", "-V"):
        with pytest.raises(SystemExit) as raised:
            main([flag])
        assert raised.value.code == 0
        assert capfd.readouterr() == (f"optctx {importlib.metadata.version('optctx')}\n", "")
