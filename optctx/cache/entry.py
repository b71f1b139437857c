"""Entries as bytes: what came out of a compilation, and what compilations of one input read."""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from optctx.fresh import Result

__all__ = ["pack_reads", "pack_result", "unpack_reads", "unpack_result"]

_HEAD = struct.Struct("<I")  # bytes of the fields before the code


def pack_result(result: Result) -> bytes:
    fields = json.dumps({"ir": result.ir, "instructions": result.instructions}).encode()
    return _HEAD.pack(len(fields)) + fields + result.code


def unpack_result(entry: bytes, seconds: float) -> Result:
    """`seconds`: how long it took to find."""
    from optctx.fresh import Result  # starts processes, which most who import optctx never do

    (size,) = _HEAD.unpack_from(entry)
    fields = json.loads(entry[_HEAD.size : _HEAD.size + size])
    return Result(fields["ir"], entry[_HEAD.size + size :], fields["instructions"], seconds=seconds)


def pack_reads(reads: list[list[str]]) -> bytes:
    """Names of options, for each way in which compilations of an input went."""
    return json.dumps(reads).encode()


def unpack_reads(entry: bytes | None) -> list[list[str]]:
    found: list[list[str]] = json.loads(entry) if entry is not None else []
    return found
