"""Runs programs; a failure becomes one error that quotes the end of what the program said."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from pathlib import Path


class StepError(Exception):
    """A step failed; the message says which, why, and what to do."""


def run(
    command: Iterable[str | Path],
    *,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
    log: Path | None = None,
) -> str:
    """What the command writes to stdout; nothing with a log, to which all that it writes goes.

    Raises StepError if the command cannot be started or fails.
    """
    words = [str(word) for word in command]
    try:
        with nullcontext(subprocess.PIPE) if log is None else log.open("w") as output:
            done = subprocess.run(
                words,
                cwd=folder,
                env={**os.environ, **(environment or {})},
                stdout=output,
                stderr=subprocess.PIPE if log is None else subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                text=True,
                errors="replace",
            )
    except OSError as error:
        raise StepError(f"cannot run {words[0]}: {error}") from error
    if done.returncode:
        said = f"see {log}" if log else " ".join((done.stderr.strip() or done.stdout).split())[-600:]
        raise StepError(f"`{' '.join(words)[:200]}` ended with status {done.returncode}: {said}")
    return done.stdout or ""
