"""The command line: what it prints, its exit status, and one line for everything that is wrong."""

from __future__ import annotations

import importlib.metadata
import json
import pathlib
import re
import shlex
import subprocess
import sys
from collections import Counter

import pytest

import optctx
from optctx.lab.command.main import COMMANDS, main, make_parser
from tests.support.command_lines import command_line
from tests.support.ir_texts import X86
from tests.support.rows import rows

EXAMPLES = pathlib.Path(__file__).parents[4] / "examples"
KERNEL = str(EXAMPLES / "kernel.ll")
SWEEP = [
    "sweep",
    KERNEL,
]


def test_processor_features_and_level_reach_the_code(capfd: pytest.CaptureFixture[str]) -> None:
    digests = set()
    for extra in ("-mcpu=haswell", "-mattr=+avx", "-O0", "-code-model=large", ""):
        assert main([*SWEEP, "--format", "json", "--llc", f"-mtriple={X86} {extra}"]) == 0
        digests.add(json.loads(capfd.readouterr().out)[0]["attributes"]["digest"])
    assert len(digests) == 5


def test_info_is_a_page_and_json(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["info", "--format", "json"]) == 0
    found = json.loads(capfd.readouterr().out)
    assert found["images"][0]["scopes"] == optctx.info()["images"][0]["scopes"]
    assert main(["info"]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert f"cache folder: {found['cache_folder']}" in lines
    assert len(lines) < 80
    refused = found["images"][0]["refused_options"]
    for reason, count in Counter(refused.values()).items():
        assert [each for each in lines if each.startswith(f"  {reason}: {count}: ")]


def test_without_a_command_it_prints_the_help() -> None:
    ended = command_line()
    assert (ended.status, ended.err) == (0, "")
    assert all(re.search(rf"^    {name} +\w", ended.out, re.MULTILINE) for name in COMMANDS)


def test_the_module_by_itself_says_what_was_found_and_what_a_scope_reaches() -> None:
    done = subprocess.run([sys.executable, "-m", "optctx"], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert {"scope reaches: thread", "scopes", "refused options"} <= set(done.stdout.splitlines())


@rows("command", [[], *([name] for name in COMMANDS)])
def test_every_help_text_has_an_example_that_the_parser_takes(
    command: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as raised:
        main([*command, "--help"])
    assert raised.value.code == 0
    out, err = capfd.readouterr()
    assert err == ""
    _, _, examples = out.partition("\nexample")
    lines = [line.strip() for line in examples.splitlines()[1:]]
    assert lines
    parser, _ = make_parser()
    for line in lines:
        words = shlex.split(line.partition(" > ")[0])
        parser.parse_args(words[1:])  # raises UsageError
    assert any(line.startswith(shlex.join(["optctx", *command])) for line in lines)


def test_the_version_is_that_of_the_installed_package(capfd: pytest.CaptureFixture[str]) -> None:
    version = importlib.metadata.version("optctx")
    for flag in ("--version", "-V"):
        with pytest.raises(SystemExit) as raised:
            main([flag])
        assert raised.value.code == 0
        assert capfd.readouterr() == (f"optctx {version}\n", "")
    assert optctx.__version__ == version
    with pytest.raises(AttributeError, match="has no attribute '__author__'"):
        _ = optctx.__author__  # type: ignore[attr-defined]
