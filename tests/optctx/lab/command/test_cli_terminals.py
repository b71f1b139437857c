"""Text from outside at the doors of the command line: nothing of it acts on a terminal or forges a line."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import sys
import threading

import pytest

from optctx.lab.command.main import main
from optctx.wording import printable
from tests.support.command_lines import command_line
from tests.support.ir_texts import X86

# A title of the window, a colour, a mark that turns the direction of writing, the control sequence of C1,
# markup of rich, a line that looks like one of the command's, and what erases a line.
EVIL = "\x1b]0;owned\x07\x1b[31m\u202e\u009b31m[bold]x[/bold]\noptctx: all is well\r\x1b[2K"
ESCAPED = "".join(f"\\{byte:02X}" for byte in EVIL.encode())  # in a string of IR
SOUND = "define i32 @f(i32 %x) {\n  %y = add i32 %x, 1\n  ret i32 %y\n}\n"
MODULES = {
    # What LLVM's parser quotes of a line, and of a name.
    "parsed.ll": f"define i32 @f(i32 %x) {{\n  %y = \x1b[31m\u202e\u009b ad i32 %x, 0\n}}\n; {EVIL}\n",
    "name.ll": f'define i32 @f() {{\n  ret i32 %"{ESCAPED}"\n}}\n',
    # What LLVM itself prints about a function's processor and features.
    "cpu.ll": SOUND.replace("{", "#0 {")
    + f'attributes #0 = {{ "target-cpu"="{ESCAPED}" "target-features"="+64bit,+{ESCAPED}" }}\n',
    # What the assembler says about a line of a module that LLVM accepts.
    "asm.ll": f'define void @f() {{\n  call void asm sideeffect "{ESCAPED}", ""()\n  ret void\n}}\n',
    "sound.ll": SOUND,
}
QUICK = [f"--llc=-mtriple={X86}", "--passes", "default<O1>"]
# The other commands read, judge and compile as these do, by the same code.
COMMANDS: dict[str, list[str]] = {
    "record, a line": ["record", "parsed.ll"],
    "record, a name": ["record", "name.ll"],
    "record, a processor": ["record", "cpu.ll", *QUICK],
    "record, assembly": ["record", "asm.ll", *QUICK],
    "sweep, rows": ["sweep", "asm.ll", *QUICK, "--try", "unroll-count=1,2"],
    "no such file": ["record", EVIL],
    "no such command": [EVIL],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    made = tmp_path_factory.mktemp("evil")
    for name, text in MODULES.items():
        (made / name).write_text(text)
    return made


@pytest.fixture
def inside(folder: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


@pytest.mark.usefixtures("attached", "inside")
def test_no_byte_of_a_module_acts_on_a_terminal(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    shown = set()
    for name, words in COMMANDS.items():
        main(words)
        out, err = (text.decode() for text in capfdbinary.readouterr())
        check_harmless(out, err)
        shown |= {name} if "\\x1b" in out + err else set()
    assert shown == COMMANDS.keys(), "the name is shown, or the test shows nothing"


def check_harmless(out: str, err: str) -> None:
    """Nothing acts on a terminal, and no line looks like the command's that is not."""
    for text in (out, err):
        assert [each for each in text if not each.isprintable() and each != "\n"] == []
    assert [line for line in err.splitlines() if not line.startswith("optctx: ")] == []
    assert not any(line.lstrip().startswith("optctx: ") for line in out.splitlines())
    assert [line for line in err.splitlines() if line.startswith("optctx: all is well")] == []


@pytest.mark.usefixtures("inside")
def test_json_is_exact_and_ascii(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", "asm.ll", *QUICK, "--format", "json"]) == 0
    out = capfd.readouterr().out
    assert out.isascii()
    assert "\x1b[31m\u202e" in json.loads(out)[0]["error"]


@pytest.mark.usefixtures("inside")
def test_a_terminal_shows_how_much_is_done(folder: pathlib.Path) -> None:
    reading, terminal = os.openpty()
    shown = bytearray()

    def read() -> None:
        with contextlib.suppress(OSError):  # the other end is closed
            while True:
                shown.extend(os.read(reading, 1 << 12))

    thread = threading.Thread(target=read, daemon=True)  # it waits for ever if the command fails
    thread.start()
    words = ["sweep", "sound.ll", *QUICK, "--try", "unroll-count=1,2"]
    ended = command_line(*words, folder=folder, redirections=f"2>{os.ttyname(terminal)}")
    os.close(terminal)
    thread.join()
    os.close(reading)
    assert (ended.status, ended.err) == (0, "")
    assert b"compiling" in shown
    assert b"2/2" in shown


def test_a_text_for_a_person_is_one_line_of_printable_characters() -> None:
    every = "".join(map(chr, range(sys.maxunicode + 1)))
    assert printable(every).isprintable()
    kept = "".join(filter(str.isprintable, every))
    assert printable(kept) == kept
    assert printable("\udcff\x1b\n") == "\\udcff\\x1b\\n"
