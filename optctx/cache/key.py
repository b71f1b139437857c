"""The keys of compiled code: the input, and the states of the options that its compilation read."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from optctx._native import Context
from optctx.context.attributes import attributes_policy
from optctx.engine.attach import Engine
from optctx.records.option_state import changed_options, process_states, state_under, value_under

if TYPE_CHECKING:
    from optctx.fresh import Job

__all__ = ["Situation", "input_key"]

_FORMAT = 3  # of keys and of entries
_PIECE = 1 << 20  # bytes of a file to read at a time


def input_key(engine: Engine, job: Job) -> str:
    """The key of everything but the options that can be scoped."""
    from llvmlite import binding  # importing optctx works without llvmlite

    fields: dict[str, Any] = asdict(job)
    source = fields.pop("ir")
    fields.pop("options")  # they come from the context
    text = source if isinstance(source, bytes) else source.encode()
    parts = [_FORMAT, engine.image.build_id, binding.get_process_triple(), process_states(engine), fields]
    parts.append(attributes_policy())  # decides which functions compile under options of their own
    return _digest([*parts, type(source).__name__, hashlib.sha256(text).hexdigest()])


class Situation:
    """The options of a context that are not as registered, and the contents of files that they name."""

    def __init__(self, engine: Engine, context: Context) -> None:
        self._process_wide = context.process_wide_text
        self._states = {}
        self._files = {}
        for name, option in changed_options(engine, context).items():
            self._states[name] = state_under(engine, context, option)
            self._files[name] = [
                (path, _content(path)) for path in _paths(value_under(engine, context, option))
            ]

    def key(self, under: str, read: Collection[str]) -> str:
        """The key of a compilation of the input with the key `under` that reads the options `read`.

        `read`: names in order. If the value of an option is the path of a file, its content is part of the
        key.
        """
        # The build id, which is in the input key, stands for options that are as registered.
        changed = sorted(self._states.keys() & set(read))
        states = [(name, self._states[name]) for name in changed]
        files = [self._files[name] for name in changed]
        return _digest([under, "\n".join(read), self._process_wide, states, files])


def _paths(value: object) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [each for each in values if isinstance(each, str) and os.path.isfile(each)]


def _content(path: str) -> str:
    try:
        digest = hashlib.sha256()
        with open(path, "rb") as file:
            for piece in iter(lambda: file.read(_PIECE), b""):
                digest.update(piece)
        return digest.hexdigest()
    except OSError as error:
        return f"cannot be read: {error.strerror}"


def _digest(parts: list[Any]) -> str:
    return hashlib.sha256(json.dumps(parts).encode(errors="surrogateescape")).hexdigest()
