"""What compiled code is kept under: the input, and the options that its compilation read, as they are."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from llvmlite import binding

from optctx._native import Context
from optctx.engine.attach import Engine
from optctx.engine.plan import PlannedOption
from optctx.fresh import Job
from optctx.records.fingerprint import states_of
from optctx.records.states import process_states, value_under

__all__ = ["input_key", "output_key"]

_FORMAT = 1  # of keys and of entries


def input_key(engine: Engine, job: Job) -> str:
    """Of everything but the options that can be scoped."""
    fields: dict[str, Any] = asdict(job)
    source = fields.pop("ir")
    fields.pop("options")  # the context's business
    text = source if isinstance(source, bytes) else source.encode()
    parts = [_FORMAT, engine.image.build_id, binding.get_process_triple(), process_states(engine), fields]
    return _digest([*parts, type(source).__name__, hashlib.sha256(text).hexdigest()])


def output_key(engine: Engine, under: str, context: Context, read: Iterable[PlannedOption]) -> str:
    """Of an input key, and of what a compilation of that input sees that reads those options.

    An option that is not as it was registered, and whose value is the path of a file, stands for the file's
    content, too.
    """
    options = list(read)
    states = states_of(engine, context, options)
    changed = {name for name, _ in states}
    files = [
        [option.record.name, path, _content(path)]
        for option in options
        if option.record.name in changed
        for path in _paths(value_under(engine, context, option))
    ]
    return _digest([under, sorted(option.record.name for option in options), states, files])


def _paths(value: object) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [each for each in values if isinstance(each, str) and os.path.isfile(each)]


def _content(path: str) -> str:
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError as error:
        return f"cannot be read: {error.strerror}"


def _digest(parts: list[Any]) -> str:
    return hashlib.sha256(json.dumps(parts).encode(errors="surrogateescape")).hexdigest()
