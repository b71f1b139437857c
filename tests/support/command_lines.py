"""Command lines as a shell starts them, in forks of a process that has loaded and attached everything.

A fresh interpreter takes 0.4 s for a command, a fork some milliseconds. Streams are as the interpreter makes
them of what the shell has closed or redirected, and the child ends as every interpreter does. Where the
interpreter itself has to be another one, `several` command lines share it.
"""

from __future__ import annotations

import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.support.alone import end_of
from tests.support.processes import SECONDS


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit status, what it printed on standard output and standard error."""

    status: int | None  # None if it hung
    out: str
    err: str


GONE = "a pipe without a reader"
_REDIRECTION = re.compile(r"([012]?[<>])(?:(&-)|(\|)|(/\S+))")
_NUMBERS = {"<": 0, ">": 1, "2>": 2}


def command_line(
    *words: str | bytes,
    redirections: str = "",
    given: bytes = b"",
    folder: str | os.PathLike[str] = ".",
    variables: dict[str, str] | None = None,
) -> Ended:
    """Run a command to its end; it shows no traceback.

    `redirections`: as a shell writes them, such as "<&- 2>/dev/full"; ">|" is to a reader that has left.
    `given`: on standard input. `variables`: of the environment.
    """
    with tempfile.TemporaryDirectory() as streams:
        opened = [os.path.join(streams, each) for each in ("in", "out", "err")]
        pathlib.Path(opened[0]).write_bytes(given)
        for sign, closed, gone, file in _REDIRECTION.findall(redirections):
            opened[_NUMBERS[sign]] = "" if closed else GONE if gone else file
        inside = os.path.abspath(folder)
        end = end_of(_run, SECONDS, prepare, variables or {}, words=words, opened=opened, folder=inside)
        assert (end.failed, end.printed) == ("", "")
        out, err = (_text(os.path.join(streams, each)) for each in ("out", "err"))
    ended = Ended(end.status, out, err)
    assert "Traceback" not in ended.err, ended.err
    assert "Exception ignored" not in ended.err, ended.err
    return ended


# They share a child that compiles, too.
_SEVERAL = """
import json, sys
from optctx.lab.command.main import main
for words in json.load(sys.stdin):
    status = main(words)
    print(end=f"\\0{status}\\0", flush=True)
    print(end="\\0", file=sys.stderr, flush=True)
"""


def several(
    lines: Iterable[Sequence[str | bytes]],
    *,
    environment: Mapping[str, str] | None = None,
    file: pathlib.Path | None = None,
    **process: Any,
) -> list[Ended]:
    """Run command lines one after the other in one new interpreter.

    `environment`: all of it, by default that of this process. `file`: a script to make and run, for an
    interpreter that does not look into the current folder. `process`: for subprocess.
    """
    if file is not None:
        file.write_text(_SEVERAL)
    done = subprocess.run(
        [sys.executable, *(["-c", _SEVERAL] if file is None else [str(file)])],
        input=json.dumps([[os.fsdecode(word) for word in line] for line in lines]).encode(),
        env=environment,
        capture_output=True,
        timeout=SECONDS,
        **process,
    )
    out, err = done.stdout.decode().split("\0"), done.stderr.decode().split("\0")
    assert (done.returncode, out[-1], err[-1]) == (0, "", ""), done.stderr
    return [Ended(int(status), *said) for status, *said in zip(out[1::2], out[::2], err, strict=False)]


def _text(file: str) -> str:
    path = pathlib.Path(file)
    return path.read_text("utf-8", "backslashreplace") if path.exists() else ""


# In the server, and in its children


def prepare() -> None:
    """Attach, and import every command."""
    import optctx
    from optctx.lab.command.main import make_parser

    optctx.attach()
    make_parser()


def _run(words: Sequence[str | bytes], opened: Sequence[str], folder: str) -> int:
    """Run a command with the streams that the shell opens for it: files, GONE, or "" for a closed one."""
    from optctx.program import main

    for number, path in enumerate(opened):
        if path == GONE:
            reading, stream = os.pipe()
            os.close(reading)
        else:
            stream = os.open(path or os.devnull, os.O_RDWR | os.O_CREAT | os.O_NOCTTY)
        os.dup2(stream, number)
        os.close(stream)
        name = ("stdin", "stdout", "stderr")[number]
        if path:  # another file than before may be none that seeks
            before = getattr(sys, name)
            file = open(number, "wb" if number else "rb", closefd=False)  # noqa: SIM115
            made = io.TextIOWrapper(file, before.encoding, before.errors, line_buffering=number == 2)
            setattr(sys, name, made)
        else:
            os.close(number)
            setattr(sys, name, None)
    os.chdir(folder)
    return main([os.fsdecode(word) for word in words])
