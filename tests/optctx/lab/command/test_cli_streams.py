"""The command line as a shell starts it: any file name, closed and full streams."""

from __future__ import annotations

import os
import pathlib

from tests.support.command_lines import command_line
from tests.support.ir_texts import X86
from tests.support.rows import rows

IR = 'source_filename = "a"\ndefine i32 @f(i32 %x) {\n  %y = add i32 %x, 0\n  ret i32 %y\n}\n'
NAME = "bytes\udcff umlaut\u00fc [red]$a$\nbreak.ll"
NO_UTF_8 = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}  # of no path, and of no stream
CLOSED = "optctx: cannot write to standard output: it is closed\n"
FULL = "optctx: the operating system refused a step: No space left on device\n"
NEITHER = "optctx: cannot read -: expected LLVM IR as text in UTF-8 or as bitcode, found neither\n"


def test_a_file_has_any_name_and_a_locale_any_encoding(tmp_path: pathlib.Path) -> None:
    """Files and standard input are UTF-8."""
    text = f"; \u00fc\n{IR}".encode()
    path = os.fsencode(tmp_path) + b"/" + os.fsencode(NAME)
    with open(path, "wb") as file:
        file.write(text)
    for word, given in ((path, b""), (b"-", text)):
        ended = command_line("sweep", word, f"--llc=-mtriple={X86}", variables=NO_UTF_8, given=given)
        assert (ended.status, ended.err) == (0, "")
        assert "1 combination, 1 different object\n" in ended.out
    ended = command_line("sweep", "-", variables=NO_UTF_8, given=b"; \xff\n" + IR.encode())
    assert (ended.status, ended.err) == (2, NEITHER)


@rows(
    ("words", "redirections", "status", "err"),
    [
        (["options", "unroll-count"], ">&-", 2, CLOSED),
        (["options", "--format", "json"], ">/dev/full", 2, FULL),  # more than a buffer takes
        (["options", "--format", "json"], ">|", 0, ""),
        # Streams that are not needed.
        (["sweep", "FILE", f"--llc=-mtriple={X86}", "--verify"], "<&- 2>&- >/dev/null", 0, ""),
    ],
)
def test_closed_and_full_streams_are_one_line_or_none(
    words: list[str], redirections: str, status: int, err: str, tmp_path: pathlib.Path
) -> None:
    (tmp_path / "FILE").write_text(IR)
    ended = command_line(*words, redirections=redirections, folder=tmp_path)
    assert (ended.status, ended.out, ended.err) == (status, "", err)
