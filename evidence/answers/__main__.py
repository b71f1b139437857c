"""The command: python -m evidence.answers."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from evidence.answers.commands import PAGES, ROOT, Command, commands

# What cannot run here, and why.
EXCEPTED: Final = {
    "make answers": "is this command",
    "make test": "runs the tests, of which these commands are no part",
    "make upstream": "builds LLVM's Support for half an hour; `make upstream` is its own target",
    "make images": "makes an environment for every release of llvmlite",
    "python -m evidence.upstream.moved": "needs a checkout of LLVM; test_upstream.py gives it a small one",
}
# What makes a command small. The figures on the pages come from the commands without it.
MORE: Final = {
    "python -m evidence.conformance": "--limit 40",
    "python -m evidence.conformance.reads": "--limit 6",
    "python -m evidence.conformance.designs": "--limit 30",
    "python -m evidence.conformance.experiments": "--limit 20",
    "python -m evidence compare": "--programs 3 --seconds 3 --throughput-seconds 0.2",
}
_SECONDS = 1800
_TOLD = 2000  # characters of what a command that failed has printed


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0 if every command ends with 0, but for those that are excepted; else 1."""
    options = make_parser().parse_args(arguments)
    pages = [page for page in PAGES if not options.pages or page.name in options.pages]
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "examples").symlink_to(ROOT / "examples")
        for command in commands(pages):
            reason = next((why for what, why in EXCEPTED.items() if _begins(command, what)), "")
            if reason:
                print(f"left out  {command.page}: {command.text}: {reason}", flush=True)
            else:
                failed += not _run(command, folder)
    return int(failed > 0)


def more_arguments(command: Command) -> str:
    """What is added to a command so that it is small, and not given already."""
    longest = max((what for what in MORE if _begins(command, what)), key=len, default="")
    words = MORE.get(longest, "").split()
    pairs = zip(words[::2], words[1::2], strict=True)
    return " ".join(f"{flag} {value}" for flag, value in pairs)


def _begins(command: Command, what: str) -> bool:
    words = what.split()
    return command.words[: len(words)] == words


def _run(command: Command, folder: str) -> bool:
    text = command.text
    program, arrow, file = text.partition(" > ")
    program = f"{program} {more_arguments(command)}".strip() + arrow + file
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}
    start = time.monotonic()
    try:
        done = subprocess.run(
            ["bash", "-c", program],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_SECONDS,
        )
        status, said = done.returncode, done.stdout
    except subprocess.TimeoutExpired:
        status, said = -1, f"no end after {_SECONDS} seconds"
    how = "ran" if status == 0 else f"status {status}"
    print(f"{how:9} {time.monotonic() - start:5.0f} s  {command.page}: {program}", flush=True)
    if status:
        print(said[-_TOLD:], flush=True)
    return status == 0


def make_parser() -> argparse.ArgumentParser:
    """Of the command's arguments."""
    parser = argparse.ArgumentParser(
        prog="python -m evidence.answers",
        description="Run every command on the pages of design/upstream, with small sizes, in a new folder.",
    )
    parser.add_argument("pages", nargs="*", metavar="PAGE.md", help="only commands of these pages")
    return parser


if __name__ == "__main__":
    sys.exit(main())
