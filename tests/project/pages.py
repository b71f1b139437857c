"""The programs on a page of the documentation, and what stands beside them as their output.

The programs of a page run from top to bottom, in one folder that is empty at first, and its Python blocks
share one process. A Python block can be followed by a block with its output. A `console` block has commands
after `$`, each followed by its output.

Python runs in forks of a process that has loaded the package (`tests.support.alone`), and the command
`optctx` in forks of one that has attached as well (`tests.support.command_lines`).
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.support.alone import end_of
from tests.support.command_lines import command_line

ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_MARK = "\x1e"  # printed after each block
_SECONDS = 120
_PROGRESS = re.compile(r"^optctx: [a-z ]+: [\d,]+ of [\d,]+\b.*\n", re.MULTILINE)
# The arguments of the command, and what becomes of its output.
_COMMAND = re.compile(r"optctx ((?:'[^']*'|\"[^\"]*\"|[^'\"|>])*)(.*)")


@dataclass(frozen=True)
class Program:
    """A program on a page: in Python, or for the shell; `output` is None where the page shows none."""

    language: str
    text: str
    output: str | None


def programs(page: Path) -> list[Program]:
    """In the order of the page."""
    found: list[Program] = []
    for language, text in _BLOCK.findall(page.read_text(encoding="utf-8")):
        if language == "" and found and found[-1].language == "python" and found[-1].output is None:
            found[-1] = Program("python", found[-1].text, text)
        elif language == "python":
            found.append(Program("python", text, None))
        elif language == "console":
            for command in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
                line, _, output = command.partition("\n")
                found.append(Program("console", line, output))
    return found


def outputs(page: Path, folder: Path) -> list[str]:
    """What the programs of a page print, run in `folder`."""
    given = programs(page)
    scripts = [program.text for program in given if program.language == "python"]
    together = "".join(f"{text}\nprint({_MARK!r}, end='')\n" for text in scripts)
    printed = iter(_python(together, folder).split(_MARK))
    return [
        next(printed) if program.language == "python" else _shell(program.text, folder) for program in given
    ]


def output_alone(program: Program, folder: Path) -> str:
    """What one program prints, run in `folder` in a process of its own."""
    return (_python if program.language == "python" else _shell)(program.text, folder)


def _python(script: str, folder: Path) -> str:
    end = end_of(_run, script=script, folder=folder)
    assert (end.status, end.failed) == (0, ""), f"{end.failed}\n{end.printed}"
    return _PROGRESS.sub("", end.printed)  # where the machine is busy


def _run(script: str, folder: Path) -> None:
    os.chdir(folder)
    exec(compile(script, "<page>", "exec"), vars(sys.modules["__main__"]))


def _shell(command: str, folder: Path) -> str:
    printed = None
    if (own := _COMMAND.fullmatch(command)) and "2>" not in own[2]:
        ended = command_line(*shlex.split(own[1]), folder=folder)
        assert (ended.status, _PROGRESS.sub("", ended.err)) == (0, ""), f"{command}\n{ended}"
        printed = ended.out
        command = f"cat {own[2]}"
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    run = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        cwd=folder,
        env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)},  # of evidence
        input=printed,
        capture_output=True,
        text=True,
        timeout=_SECONDS,
    )
    said = _PROGRESS.sub("", run.stderr)
    assert (run.returncode, said) == (0, ""), f"{command}\n{run.stdout}{run.stderr}"
    return run.stdout
