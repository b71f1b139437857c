"""The command line as a shell starts it: any file name, closed and full streams, absurd lengths."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
from collections.abc import Sequence

import pytest

from tests.support.ir_texts import X86
from tests.support.processes import SECONDS

OPTCTX = [sys.executable, "-m", "optctx"]
IR = 'source_filename = "a"\ndefine i32 @f(i32 %x) {\n  %y = add i32 %x, 0\n  ret i32 %y\n}\n'
NAMES = [b"bytes\xff.ll", "umlaut\u00fc.ll".encode(), b"line\nbreak.ll", b"[red]$a$.ll", b"-dash.ll"]
# Where text cannot be encoded; and where it can.
ENCODINGS = [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C"}, {"LC_ALL": "C", "PYTHONUTF8": "0"}, {}]
CLOSED = "optctx: cannot write to standard output: it is closed\n"
FULL = "optctx: cannot write to standard output: No space left on device\n"
NEITHER = "optctx: cannot read -: expected LLVM IR as text in UTF-8 or as bitcode, found neither\n"


def optctx(
    *arguments: str | bytes, variables: dict[str, str] | None = None, given: bytes = b""
) -> tuple[int, str, str]:
    """Exit status, standard output and standard error, in which there must be no traceback."""
    done = subprocess.run(
        [*OPTCTX, *arguments],
        input=given,
        capture_output=True,
        env={**environment(), **(variables or {})},
        timeout=SECONDS,
    )
    out, err = done.stdout.decode(), done.stderr.decode()
    assert "Traceback" not in err
    assert "Exception ignored" not in err
    return done.returncode, out, err


# Several command lines in one process, whose streams are as the variables say.
SEVERAL = """
import json, sys
from optctx.lab.command.main import main
for words in json.load(sys.stdin):
    print(main(words), flush=True)
    print(end="\\0", file=sys.stderr, flush=True)
"""


def refused(
    lines: Sequence[Sequence[str | bytes]], words: Sequence[str], variables: dict[str, str] | None = None
) -> None:
    """Each line prints nothing, and is refused in one short line that has the words beside it."""
    given = json.dumps([[os.fsdecode(word) for word in line] for line in lines])
    done = subprocess.run(
        [sys.executable, "-c", SEVERAL],
        input=given.encode(),
        capture_output=True,
        env={**environment(), **(variables or {})},
        timeout=SECONDS,
    )
    assert done.stdout.decode() == "2\n" * len(lines), done.stderr.decode()
    said = done.stderr.decode().split("\0")
    wrong = {
        str(line)[:200]: err
        for line, err, word in zip(lines, said, words, strict=False)
        if not err.startswith("optctx: ") or err.count("\n") != 1 or word not in err or len(err) > 5000
    }
    assert (wrong, said[len(lines) :]) == ({}, [""])


def environment() -> dict[str, str]:
    """Standard output as a shell's commands have it: with a buffer."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}


def shell(command: str, *arguments: str | os.PathLike[str]) -> tuple[int, str]:
    """Exit status and standard error of a line with redirections, in which "$@" is the command."""
    done = subprocess.run(
        ["sh", "-c", command, "sh", *OPTCTX, *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=environment(),
        text=True,
        timeout=SECONDS,
    )
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    return done.returncode, done.stderr


@pytest.fixture
def kernel(tmp_path: pathlib.Path) -> str:
    (tmp_path / "kernel.ll").write_text(IR)
    return str(tmp_path / "kernel.ll")


@pytest.mark.parametrize("variables", ENCODINGS[::2], ids=str)
def test_files_may_have_any_name_and_streams_any_encoding(
    variables: dict[str, str], tmp_path: pathlib.Path
) -> None:
    paths = [os.fsencode(tmp_path) + b"/" + name for name in NAMES]
    for path in paths:
        with open(path, "w") as file:
            file.write(IR)
    status, out, err = optctx("check-link", *paths, variables=variables)
    assert (status, err) == (0, "")
    assert out.count("no stamp") == len(NAMES)
    status, out, err = optctx("check-link", "--format=json", *paths, variables=variables)
    assert (status, err) == (0, "")
    assert len(json.loads(out)["unstamped"]) == len(NAMES)
    status, out, err = optctx("sweep", paths[0], "--triple", X86, variables=variables)
    assert (status, err) == (0, "")
    assert "1 combination, 1 different object\n" in out


@pytest.mark.parametrize("variables", ENCODINGS[::3], ids=str)
def test_a_file_of_any_name_that_is_not_there_is_one_line(
    variables: dict[str, str], tmp_path: pathlib.Path
) -> None:
    commands = [["sweep"], ["check-link"], ["rank"], ["sweep", "--format", "json"]]
    file = os.fsencode(tmp_path) + b"/none\xff"
    refused([[*command, file] for command in commands], ["none\\udcff"] * len(commands), variables)


NO_TEXT: list[list[str | bytes]] = [
    ["options", b"\xff"],
    ["show", b"\xff"],
    [b"\xff"],
    ["sweep", "FILE", "--set", b"unroll-count=\xff"],
    ["sweep", "FILE", "--set", b"\xff=1"],
    ["sweep", "FILE", "--passes", b"\xff"],
    ["sweep", "FILE", "--triple", b"\xff"],
    ["sweep", "FILE", "--cpu", b"\xff"],
    ["sweep", "FILE", "--features", b"\xff"],
    ["sweep", "FILE", "--jobs", b"\xff"],
    ["check-link", "FILE", b"--link-options=-unroll-count=\xff"],
    ["rank", "FILE", "--set", b"unroll-count=\xff"],
]
REDIRECTED: list[list[str | bytes]] = [["rank", "FILE", "--only", b"\xff"]]


@pytest.mark.parametrize("lines", [NO_TEXT, pytest.param(REDIRECTED, marks=pytest.mark.redirected)], ids=len)
def test_an_argument_that_is_no_utf_8_is_shown_with_an_escape(
    lines: list[list[str | bytes]], kernel: str
) -> None:
    given = [[kernel if word == "FILE" else word for word in line] for line in lines]
    refused(given, ["\\udcff"] * len(given), {"PYTHONIOENCODING": "ascii"})


def test_standard_input_is_utf_8_in_any_locale() -> None:
    for variables in ENCODINGS[:2]:
        text = f"; \u00fc\n{IR}".encode()
        status, _, err = optctx("sweep", "-", "--triple", X86, variables=variables, given=text)
        assert (status, err) == (0, "")
        status, _, err = optctx("sweep", "-", variables=variables, given=b"; \xff\n" + IR.encode())
        assert (status, err) == (2, NEITHER)


@pytest.mark.parametrize(
    "command",
    [
        # Which prints more than a buffer takes, in two seconds.
        *(pytest.param([each], marks=pytest.mark.long) for each in ("options", "info")),
        ["check-link", "FILE"],
    ],
)
def test_standard_output_that_takes_nothing_is_one_line(command: list[str], kernel: str) -> None:
    given = [kernel if argument == "FILE" else argument for argument in command]
    assert shell('"$@" >&-', *given) == (3, CLOSED)
    assert shell('"$@" >/dev/full', *given) == (3, FULL)
    assert shell('PYTHONUNBUFFERED=1 "$@" >/dev/full', *given) == (3, FULL)
    assert shell('"$@" >/dev/full 2>/dev/full', *given) == (3, "")
    assert shell('"$@" <&- >&- 2>&-', *given) == (3, "")


def test_closed_streams_that_are_not_needed_do_not_matter(kernel: str) -> None:
    for command in (["info"], ["sweep", kernel, "--triple", X86, "--verify"]):
        assert shell('"$@" 2>&- >/dev/null', *command) == (0, "")
        assert shell('"$@" <&- 2>&- >/dev/null', *command) == (0, "")


def test_help_and_usage_need_no_streams_either() -> None:
    assert shell('"$@" >&-', "--help") == (3, CLOSED)
    assert shell('"$@" >/dev/full', "options", "--help") == (3, FULL)
    assert shell('"$@" | true', "--help") == (0, "")
    for redirection, status in (("2>&-", 2), ("2>/dev/full", 2), (">&- 2>&-", 3)):
        assert shell(f'"$@" {redirection}', "no-such-command") == (status, "")


def test_an_error_goes_nowhere_else_where_standard_error_is_closed() -> None:
    for redirection in ("2>&-", "2>/dev/full"):
        done = subprocess.run(
            ["sh", "-c", f'"$@" {redirection}', "sh", *OPTCTX, "options", "no-such-option"],
            stdout=subprocess.PIPE,
            env=environment(),
            timeout=SECONDS,
        )
        assert (done.returncode, done.stdout) == (2, b"")


def test_closed_standard_input_is_one_line_if_it_is_the_file() -> None:
    status, err = shell('"$@" <&-', "sweep", "-")
    assert (status, err) == (
        2,
        "optctx: cannot read standard input: it is closed; name a file instead of '-'\n",
    )


TEN = ",".join(map(str, range(1, 11)))
OPTIONS = [f"option-{number}" for number in range(9)]
LONG = 131_000  # bytes: the longest that Linux takes in one argument is 128 KiB


ABSURD = [
    (["--try=unroll-count=1..1000", "--try=inline-threshold=1..1000"], "1,000,000 combinations"),
    ([f"--try={name}={TEN}" for name in OPTIONS], "no LLVM option is called"),
    ([f"--try=n{number}=1" for number in range(4000)], "no LLVM option is called"),
    (["--try=n=1"] * 60_000, "at most 5,000 options"),
    (["--try=" + "x" * LONG], "no LLVM option is called"),
    (["--try=" + "x" * LONG + "=1"], "no LLVM option is called"),
    (["--try=" + "=" * LONG], "expected NAME=VALUES"),
    (["--try=unroll-count=" + "1" * LONG], "value invalid for uint argument"),
    (["--try=unroll-count=" + "," * LONG], "value invalid for uint argument"),
    (["--try=unroll-count=" + ",".join(f"x{number}" for number in range(15_000))], "are refused"),
]


def test_a_sweep_of_absurd_size_is_one_line_at_once(kernel: str) -> None:
    refused([["sweep", kernel, *given] for given, _ in ABSURD], [words for _, words in ABSURD])
