"""Trials that a file keeps, for tests."""

from __future__ import annotations

import json
import pathlib

from optctx.lab.trial import Trial


def kept_trials(file: pathlib.Path) -> dict[int, Trial]:
    """By number, in the order of the file."""
    _, *lines = file.read_bytes().splitlines() or [b""]
    trials = [Trial(**json.loads(line)) for line in lines]
    return {trial.number: trial for trial in trials}
