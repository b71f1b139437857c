"""The command line as a shell starts it: any file name, closed and full streams."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

from tests.support.command_lines import command_line
from tests.support.ir_texts import X86
from tests.support.processes import SECONDS
from tests.support.rows import rows

IR = 'source_filename = "a"\ndefine i32 @f(i32 %x) {\n  %y = add i32 %x, 0\n  ret i32 %y\n}\n'
NAMES = [b"bytes\xff.ll", "umlaut\u00fc.ll".encode(), b"line\nbreak.ll", b"[red]$a$.ll", b"-dash.ll"]
NO_UTF_8 = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}  # of no path, and of no stream
CLOSED = "optctx: cannot write to standard output: it is closed\n"
FULL = "optctx: the operating system refused a step: No space left on device\n"
NEITHER = "optctx: cannot read -: expected LLVM IR as text in UTF-8 or as bitcode, found neither\n"
NOTHING = "optctx: cannot use -: expected LLVM IR or bitcode, found nothing\n"


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("streams") / "kernel.ll"
    path.write_text(IR)
    return str(path)


def test_files_may_have_any_name_and_streams_any_encoding(tmp_path_factory: pytest.TempPathFactory) -> None:
    paths = [os.fsencode(tmp_path_factory.mktemp("names")) + b"/" + name for name in NAMES]
    for path in paths:
        with open(path, "w") as file:
            file.write(IR)
        ended = command_line("sweep", f"--llc=-mtriple={X86}", path, variables=NO_UTF_8)
        assert (ended.status, ended.err) == (0, "")
        assert "1 combination, 1 different object\n" in ended.out


def test_standard_input_is_utf_8_in_any_locale() -> None:
    text = f"; \u00fc\n{IR}".encode()
    ended = command_line("sweep", "-", f"--llc=-mtriple={X86}", variables=NO_UTF_8, given=text)
    assert (ended.status, ended.err) == (0, "")
    ended = command_line("sweep", "-", variables=NO_UTF_8, given=b"; \xff\n" + IR.encode())
    assert (ended.status, ended.err) == (2, NEITHER)
    assert command_line("sweep", "-", given=b"\n").err == NOTHING
    ended = command_line("sweep", "-", redirections="<&-")
    assert (ended.status, ended.err) == (2, NOTHING)


@rows(
    ("words", "redirections", "status", "err"),
    [
        (["options", "--format", "json"], ">&-", 2, CLOSED),
        (["options", "--format", "json"], ">/dev/full", 2, FULL),  # more than a buffer takes
        (["options", "--format", "json"], ">|", 0, ""),
        # Streams that are not needed.
        (["sweep", "FILE", f"--llc=-mtriple={X86}", "--verify"], "<&- 2>&- >/dev/null", 0, ""),
    ],
)
def test_closed_and_full_streams_are_one_line_or_none(
    words: list[str], redirections: str, status: int, err: str, kernel: str
) -> None:
    given = [kernel if word == "FILE" else word for word in words]
    ended = command_line(*given, redirections=redirections)
    assert (ended.status, ended.out, ended.err) == (status, "", err)


def test_files_are_written_also_where_the_reader_of_standard_output_has_ended(
    kernel: str, tmp_path: pathlib.Path
) -> None:
    """As in `| head`."""

    def run(*words: str) -> None:
        reading, writing = os.pipe()
        os.close(reading)
        done = subprocess.run(
            [sys.executable, "-um", "optctx", *words],
            cwd=tmp_path,
            stdout=writing,
            stderr=subprocess.PIPE,
            timeout=SECONDS,
        )
        os.close(writing)
        assert (done.returncode, done.stderr) == (0, b"")

    run("tune", kernel, "--try", "unroll-count=1", "--by=size", "--storage=kept", "--best=best.toml")
    assert {each.name for each in tmp_path.iterdir()} == {"best.toml", "kept"}
