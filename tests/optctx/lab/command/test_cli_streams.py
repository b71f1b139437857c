"""The command line as a shell starts it: any file name and any text, closed and full streams, terminals."""

from __future__ import annotations

import json
import os
import pathlib

import pytest

from optctx.lab.command.main import main
from optctx.wording import printable
from tests.support.command_lines import command_line
from tests.support.ir_texts import X86
from tests.support.rows import rows
from tests.support.tuning_cases import TINY

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
        ended = command_line("record", word, variables=NO_UTF_8, given=given)
        assert (ended.status, ended.err) == (0, "")
        assert "options read, 0 overrides not read\n" in ended.out
    ended = command_line("record", "-", variables=NO_UTF_8, given=b"; \xff\n" + IR.encode())
    assert (ended.status, ended.err) == (2, NEITHER)


@rows(
    ("words", "redirections", "status", "err"),
    [
        (["options", "unroll-count"], ">&-", 2, CLOSED),
        (["options", "--format", "json"], ">/dev/full", 2, FULL),  # more than a buffer takes
        (["options", "--format", "json"], ">|", 0, ""),
        # Streams that are not needed.
        (["record", "FILE"], "<&- 2>&- >/dev/null", 0, ""),
    ],
)
def test_closed_and_full_streams_are_one_line_or_none(
    words: list[str], redirections: str, status: int, err: str, tmp_path: pathlib.Path
) -> None:
    (tmp_path / "FILE").write_text(IR)
    ended = command_line(*words, redirections=redirections, folder=tmp_path)
    assert (ended.status, ended.out, ended.err) == (status, "", err)


# Text from outside: nothing of it acts on a terminal or forges a line

# A title of the window, a colour, a mark that turns the direction of writing, the control sequence of C1,
# markup of rich, a line that looks like one of the command's, and what erases a line.
EVIL = "\x1b]0;owned\x07\x1b[31m\u202e\u009b31m[bold]x[/bold]\noptctx: all is well\r\x1b[2K"
ESCAPED = "".join(f"\\{byte:02X}" for byte in EVIL.encode())  # in a string of IR
MODULES = {
    # What LLVM's parser quotes of a line
    "parsed.ll": f"define i32 @f(i32 %x) {{\n  %y = \x1b[31m\u202e\u009b ad i32 %x, 0\n}}\n; {EVIL}\n",
    # What the assembler says about a line of a module that LLVM accepts.
    "asm.ll": f'define void @f() {{\n  call void asm sideeffect "{ESCAPED}", ""()\n  ret void\n}}\n',
    "sound.ll": TINY,
}
QUICK = [f"--llc=-mtriple={X86}", "--passes", "default<O1>"]
# The other commands read, judge and compile as these do, by the same code.
COMMANDS: dict[str, list[str]] = {
    "record, a line": ["record", "parsed.ll"],
    "record, assembly": ["record", "asm.ll", *QUICK],
    "sweep, rows": ["sweep", "asm.ll", *QUICK, "--try", "unroll-count=1,2"],
    "no such file": ["record", EVIL],
}


@pytest.fixture
def inside(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in MODULES.items():
        pathlib.Path(name).write_text(text)


@pytest.mark.usefixtures("attached", "inside")
def test_no_byte_of_a_module_acts_on_a_terminal(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    shown = set()
    for name, words in COMMANDS.items():
        main(words)
        out, err = (text.decode() for text in capfdbinary.readouterr())
        check_harmless(out, err)
        shown |= {name} if "\\x1b" in out + err else set()
    assert shown == COMMANDS.keys(), "the name is shown, or the test shows nothing"

    main(["sweep", "asm.ll", *QUICK, "--format", "json"])  # exact, and ASCII
    data = capfdbinary.readouterr().out.decode("ascii")
    assert "\x1b[31m\u202e" in json.loads(data)[0]["error"]


def check_harmless(out: str, err: str) -> None:
    """Nothing acts on a terminal, and no line looks like the command's that is not."""
    for text in (out, err):
        assert [each for each in text if not each.isprintable() and each != "\n"] == []
    assert [line for line in err.splitlines() if not line.startswith("optctx: ")] == []
    assert not any(line.lstrip().startswith("optctx: ") for line in out.splitlines())
    assert [line for line in err.splitlines() if line.startswith("optctx: all is well")] == []


@pytest.mark.usefixtures("inside")
def test_a_terminal_shows_how_much_is_done(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    words = ["sweep", "sound.ll", *QUICK, "--try", "unroll-count=1,2"]
    assert main(words) == 0
    assert capfd.readouterr().err == ""
    monkeypatch.setenv("FORCE_COLOR", "1")  # for rich, any stream is a terminal then
    assert main(words) == 0
    shown = capfd.readouterr().err
    assert "compiling" in shown
    assert "2/2" in shown


def test_a_text_for_a_person_is_one_line_of_printable_characters() -> None:
    every = "".join(map(chr, range(0xFFFF)))
    assert printable(every).isprintable()
    kept = "".join(filter(str.isprintable, every))
    assert printable(kept) == kept
    assert printable("\udcff\x1b\n") == "\\udcff\\x1b\\n"
