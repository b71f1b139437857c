"""`optctx record`: what LLVM reads for a file, compared with what `record()` sees of the same compilation."""

from __future__ import annotations

import json
import pathlib

import pytest

from optctx import OptionContext, record
from optctx.compiling import Job, compile_job, facts
from optctx.lab.command.main import main
from tests.support.ir_texts import COUNTED, UNROLL, X86
from tests.support.rows import rows

pytestmark = [pytest.mark.usefixtures("attached")]

# The last is of another target, so it is not read.
SETTINGS = {
    "unroll-count": "4",
    "unroll-max-count": "0",
    "unroll-threshold": "150",
    "hexagon-initial-cfg-cleanup": "false",
}


@pytest.fixture
def command(tmp_path: pathlib.Path) -> list[str]:
    (tmp_path / "counted.ll").write_text(COUNTED)
    settings = [f"--set={name}={value}" for name, value in SETTINGS.items()]
    return ["record", str(tmp_path / "counted.ll"), "--passes", UNROLL, f"--llc=-mtriple={X86}", *settings]


def test_it_is_what_a_recording_of_the_same_compilation_sees_in_any_form(
    command: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    shown = {}
    for form in ("json", "table"):
        assert main([*command, "--format", form]) == 0
        shown[form] = capfd.readouterr().out
    found = json.loads(shown["json"])
    with OptionContext(SETTINGS), record() as log:
        assert compile_job(Job(COUNTED, UNROLL, triple=X86)).error is None
    assert [entry["name"] for entry in found["read"]] == list(log.reads)
    for entry in found["read"]:
        read = log.reads[entry["name"]]
        assert (entry["functions"], entry["values"]) == (list(read.functions), list(read.values))
        assert entry["note"] == read.note
    assert log.reads["unroll-max-count"].note == "read, but equal to its process-wide value"
    [unread] = found["unread"]
    assert (unread["name"], unread["cause"]) == ("hexagon-initial-cfg-cleanup", log.unread[0].cause)
    table = shown["table"].splitlines()
    for read in log.reads.values():
        [row] = [row for row in table if row.split()[:1] == [read.name]]
        assert row.endswith("  " + ("; ".join(map(facts.text, read.values)) or '""'))
    assert table[-1] == f"{len(log.reads)} options read, 1 override not read"
    [row] = [row for row in table if row.startswith("hexagon-initial-cfg-cleanup")]
    assert "what reads it did not run" in row
    assert [line for line in table if line != line.rstrip()] == []


def test_llvm_that_ends_the_process_is_one_line(
    tmp_path: pathlib.Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """An unknown processor has no 64 bits."""
    function = 'define void @f() "target-cpu"="none" {\n  ret void\n}\n'
    (tmp_path / "dies.ll").write_text(function)
    assert main(["record", str(tmp_path / "dies.ll"), f"--llc=-mtriple={X86}"]) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith(f"optctx: cannot compile {tmp_path / 'dies.ll'}: LLVM crashed: LLVM ERROR: 64-bit")
    assert err.count("\n") == 1


OPTNONE = COUNTED.replace("(ptr %out) {", "(ptr %out) noinline optnone {")
EVERY = "every function is optnone: passes skip them; compile with clang -O1 -Xclang -disable-llvm-passes"


@rows(
    ("ir", "says"),
    [
        (f"{OPTNONE}declare void @f()\n", EVERY),
        (f"{OPTNONE}define void @g() {{ ret void }}", "1 of 2 functions is optnone: passes skip it"),
    ],
)
def test_that_passes_skip_functions_is_said_once(
    ir: str, says: str, tmp_path: pathlib.Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "skipped.ll").write_text(ir)
    command = ["record", str(tmp_path / "skipped.ll"), "--passes", UNROLL]
    found, plain = {}, [*command, "--format", "json"]
    for number, words in enumerate((plain, [*plain, "--set", "slp-threshold=5"])):
        assert main(words) == 0
        found[number] = json.loads(capfd.readouterr().out)
    # Where some functions are left, it is said only if an override was not read.
    assert found[0]["skipped"].startswith(says) == (says == EVERY)
    assert found[1]["skipped"].startswith(says)
    assert main([*command, "--set", "slp-threshold=5"]) == 0
    assert capfd.readouterr().out.count(found[1]["skipped"]) == 1
