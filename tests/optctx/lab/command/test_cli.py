"""The command line: what it prints, its exit status, and one line for everything that is wrong."""

from __future__ import annotations

import csv
import importlib
import importlib.metadata
import io
import json
import pathlib
import shlex
import subprocess
import sys

import pytest

import optctx
from optctx.fresh import FreshProcess, Job, Result
from optctx.lab.command.main import COMMANDS, main, make_parser
from tests.support.processes import run_python

EXAMPLES = pathlib.Path(__file__).parents[4] / "examples"
KERNEL = str(EXAMPLES / "kernel.ll")
SWEEP = ["sweep", KERNEL, "--triple", "x86_64-unknown-linux-gnu"]


def test_a_verified_sweep_prints_a_row_per_combination(capfd: pytest.CaptureFixture[str]) -> None:
    status = main([*SWEEP, "--try", "unroll-count=1,8", "--try", "force-vector-width=1,8", "--verify"])
    out = capfd.readouterr().out
    assert status == 0
    assert out.count(" same ") == 5  # the best row is there twice
    assert "DIFFERS" not in out
    assert "4 combinations, 4 different objects" in out


def test_json_and_csv_say_the_same(capfd: pytest.CaptureFixture[str]) -> None:
    arguments = [*SWEEP, "--try", "unroll-count=1,4", "--jobs", "2", "--format"]
    assert main([*arguments, "json"]) == 0
    rows = json.loads(capfd.readouterr().out)
    assert main([*arguments, "csv"]) == 0
    lines = list(csv.DictReader(io.StringIO(capfd.readouterr().out)))
    assert [row["options"]["unroll-count"] for row in rows] == ["1", "4"]
    assert [line["digest"] for line in lines] == [row["attributes"]["digest"] for row in rows]
    assert len({line["digest"] for line in lines}) == 2


def test_processor_features_and_level_reach_the_code(capfd: pytest.CaptureFixture[str]) -> None:
    digests = set()
    changes = ("--cpu haswell", "--features +avx", "--opt-level 0", "--passes sroa")
    for extra in ([], *(change.split() for change in changes)):
        assert main([*SWEEP, "--format", "json", *extra]) == 0
        digests.add(json.loads(capfd.readouterr().out)[0]["attributes"]["digest"])
    assert len(digests) == 5


def test_a_difference_is_named_and_is_exit_status_1(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Failing(FreshProcess):
        def compile(self, job: Job, *, timeout: float | None = None) -> Result:
            return Result(error="the fresh process said no")

    monkeypatch.setattr(importlib.import_module("optctx.lab.sweep.sweep"), "FreshProcess", Failing)
    assert main([*SWEEP, "--try", "unroll-count=2", "--verify"]) == 1
    out, err = capfd.readouterr()
    assert "DIFFERS" in out
    assert "optctx: -unroll-count=2: the fresh process said no" in err


def test_list_takes_parts_globs_types_and_scopes(capfd: pytest.CaptureFixture[str]) -> None:
    def names(*arguments: str) -> set[str]:
        assert main(["list", *arguments, "--format", "json"]) == 0
        return {option["name"] for option in json.loads(capfd.readouterr().out)}

    everything = names()
    assert everything == set(optctx.registry())
    assert names("unroll-c") == {name for name in everything if "unroll-c" in name} >= {"unroll-count"}
    assert names("unroll-*") == {name for name in everything if name.startswith("unroll-")}
    assert "unroll-count" in names("--type", "uint", "--scope", "thread")
    assert "unroll-count" not in names("--type", "bool")


def test_list_puts_an_option_on_a_line_when_piped(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "unroll-count"]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert lines[0].split() == ["name", "type", "value", "scope", "help"]
    assert any(line.split()[:4] == ["unroll-count", "uint", "0", "thread"] for line in lines)


@pytest.mark.redirected
def test_show_prints_everything_about_an_option(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "unroll-count"]) == 0
    text = capfd.readouterr().out
    assert main(["show", "--format", "json", "--", "-unroll-count"]) == 0
    data = json.loads(capfd.readouterr().out)
    assert (data["name"], data["type"], data["scope"]) == ("unroll-count", "uint", "thread")
    assert [reader.partition("(")[0] for reader in data["read_by"]] == ["llvm::computeUnrollCount"]
    assert all(any(line.startswith(field) for line in text.splitlines()) for field in data)
    assert data["help"] in text


def test_python_m_optctx_prints_the_information_as_json() -> None:
    runs = [
        subprocess.run([sys.executable, "-m", "optctx", *extra], capture_output=True, text=True, check=True)
        for extra in ([], ["info"])
    ]
    assert [run.stderr for run in runs] == ["", ""]
    (bare, named) = (json.loads(run.stdout) for run in runs)
    assert isinstance(bare, dict)
    assert bare.keys() == named.keys()


def test_a_reader_that_leaves_early_is_no_error() -> None:
    command = [sys.executable, "-m", "optctx", "list"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().split()[0] == "name"
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait() == 0


@pytest.mark.parametrize("command", [[], *([name] for name in COMMANDS)], ids=" ".join)
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
        assert words[: 1 + len(command)] == ["optctx", *command]
        parser.parse_args(words[1:])  # raises UsageError


def test_the_version_is_that_of_the_installed_package(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as raised:
        main(["--version"])
    assert raised.value.code == 0
    version = importlib.metadata.version("optctx")
    assert capfd.readouterr() == (f"optctx {version}\n", "")
    assert optctx.__version__ == version
    command = [sys.executable, "-m", "optctx", "--version"]
    assert subprocess.check_output(command, text=True) == f"optctx {version}\n"


def test_importing_does_not_look_the_version_up() -> None:
    code = "import sys, optctx; print('importlib.metadata' in sys.modules); optctx.__version__"
    assert run_python(code) == "False\n"
    with pytest.raises(AttributeError, match="has no attribute '__author__'"):
        _ = optctx.__author__  # type: ignore[attr-defined]
