"""Runs programs; a failure becomes one error that quotes the end of what the program said."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path


class UpstreamError(Exception):
    """A step failed; the message says which, why, and what to do."""


def run(command: Iterable[str | Path], *, folder: Path | None = None) -> str:
    """What the command writes to stdout. Raises UpstreamError if it cannot be started or fails."""
    words = [str(word) for word in command]
    try:
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, errors="replace")
    except OSError as error:
        raise UpstreamError(f"cannot run {words[0]}: {error}") from error
    if done.returncode:
        said = " ".join((done.stderr.strip() or done.stdout).split())[-600:]
        raise UpstreamError(f"`{_short(words)}` ended with status {done.returncode}: {said}")
    return done.stdout


def run_logged(
    command: Iterable[str | Path], log: Path, *, environment: Mapping[str, str] | None = None
) -> None:
    """Runs a long command whose output goes to a file. Raises UpstreamError that names the file."""
    words = [str(word) for word in command]
    with log.open("w") as output:
        try:
            done = subprocess.run(
                words,
                env={**os.environ, **(environment or {})},
                stdout=output,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
            )
        except OSError as error:
            raise UpstreamError(f"cannot run {words[0]}: {error}") from error
    if done.returncode:
        raise UpstreamError(f"`{_short(words)}` ended with status {done.returncode}; see {log}")


def _short(words: list[str]) -> str:
    text = " ".join(words)
    return text if len(text) <= 200 else f"{text[:200]} ..."
