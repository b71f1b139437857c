"""Entries of a cache: their keys, and their bytes.

A key is made of the input, and of the states of the options that its compilation read. An entry holds the
result of a compilation, or the options that compilations of one input read. Its store finds what is damaged.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
from collections.abc import Collection
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from optctx._native import Context, option_at
from optctx.engine.engine import Engine
from optctx.travelling.attributes import attributes_policy
from optctx.values.states import (
    changed_options,
    process_options,
    process_texts,
    text_under,
    value_under,
)
from optctx.values.trust import judgement_of

if TYPE_CHECKING:
    from optctx.compiling import Job, Result

_FORMAT = 3  # of keys and of entries


def printing_options(engine: Engine, context: Context) -> list[str]:
    """Name the options that are not as registered, and make a compilation print, draw or write files."""
    changed = [*changed_options(engine, context).values()]
    changed += [option for option in process_options(engine) if option_at(option.address).occurrences]
    return sorted(option.name for option in changed if judgement_of(option).trust == "output")


def input_key(engine: Engine, job: Job) -> str:
    """Return the key of everything but the options that can be scoped."""
    from llvmlite import binding  # importing optctx works without llvmlite

    fields: dict[str, Any] = asdict(job)
    source = fields.pop("ir")
    fields.pop("options")  # they come from the context
    fields.pop("llvm")  # llvmlite's, by its build id
    text = source if isinstance(source, bytes) else source.encode()
    parts = [_FORMAT, engine.image.build_id, binding.get_process_triple(), process_texts(engine), fields]
    parts.append(attributes_policy())  # decides which functions compile under options of their own
    return digest([*parts, type(source).__name__, hashlib.sha256(text).hexdigest()])


class Situation:
    """The options of a context that are not as registered, and the contents of files that they name."""

    def __init__(self, engine: Engine, context: Context) -> None:
        self._changed = {}
        for name, option in changed_options(engine, context).items():
            files = [(path, _content(path)) for path in _paths(value_under(context, option))]
            self._changed[name] = text_under(context, option), files

    def key(self, under: str, read: Collection[str]) -> str:
        """Return the key of a compilation of the input with key `under` that reads the options `read`.

        `read`: names in order. If the value of an option is the path of a file, its content is part of the
        key.
        """
        # The build id, which is in the input key, stands for options that are as registered.
        changed = sorted(self._changed.keys() & set(read))
        states = [(name, self._changed[name][0]) for name in changed]
        files = [self._changed[name][1] for name in changed]
        return digest([under, "\n".join(read), states, files])


def _paths(value: object) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [each for each in values if isinstance(each, str) and os.path.isfile(each)]


def _content(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        return f"cannot be read: {error.strerror}"


def digest(parts: list[Any]) -> str:
    """Hash parts of a key."""
    return hashlib.sha256(json.dumps(parts).encode(errors="surrogateescape")).hexdigest()


_HEAD = struct.Struct("<?QQ")  # whether there is IR, its bytes, instructions
_SURROGATES = "surrogatepass"  # so packing never raises either
# Limits for the reads of one input. A lookup tries each set of them.
_MOST_WAYS = 256
_MOST_BYTES = 1 << 20


def pack_result(result: Result) -> bytes:
    ir = (result.ir or "").encode(errors=_SURROGATES)
    return _HEAD.pack(result.ir is not None, len(ir), result.instructions) + ir + result.code


def unpack_result(entry: bytes, seconds: float) -> Result:
    """Return the result of a compilation. `seconds`: the time that finding it took."""
    from optctx.compiling import Result  # slow to import, and most programs never need it

    has_ir, size, instructions = _HEAD.unpack_from(entry)
    end = _HEAD.size + size
    ir = entry[_HEAD.size : end].decode(errors=_SURROGATES) if has_ir else None
    return Result(ir, entry[end:], instructions, seconds=seconds)


def pack_reads(reads: list[list[str]]) -> bytes:
    """Pack the sets of option names that compilations of an input read. Drops the oldest beyond the limits.

    There is a line for each name, and an empty line after each set.
    """
    ways: list[bytes] = []
    room = _MOST_BYTES
    for names in reversed(reads[-_MOST_WAYS:]):
        way = "".join(f"{name}\n" for name in [*names, ""]).encode(errors=_SURROGATES)
        room -= len(way)
        if room < 0:
            break
        ways.append(way)
    return b"".join(reversed(ways))


def unpack_reads(entry: bytes) -> list[list[str]]:
    """Unpack what `pack_reads` packed."""
    ways: list[list[str]] = []
    names: list[str] = []
    for line in entry.decode(errors=_SURROGATES).split("\n")[:-1]:
        if line:
            names.append(line)
        else:
            ways.append(names)
            names = []
    return ways
