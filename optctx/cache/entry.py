"""Entries as bytes: the result of a compilation, and the options that compilations of one input read.

Reading an entry takes time and memory in proportion to its size, and never raises, whatever the bytes are.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from optctx.fresh import Emit, Result

__all__ = ["pack_reads", "pack_result", "unpack_reads", "unpack_result"]

_HEAD = struct.Struct("<?QQ")  # whether there is IR, its bytes, instructions
_SURROGATES = "surrogatepass"  # so packing never raises either
# Limits for the reads of one input. A lookup tries each set of them.
_MOST_WAYS = 256
_MOST_BYTES = 1 << 20


def pack_result(result: Result) -> bytes:
    ir = (result.ir or "").encode(errors=_SURROGATES)
    return _HEAD.pack(result.ir is not None, len(ir), result.instructions) + ir + result.code


def unpack_result(entry: bytes, emit: Emit, seconds: float) -> Result | None:
    """The result of a compilation that emits `emit`, or None if the bytes are not such a result.

    `seconds`: the time that finding it took.
    """
    from optctx.fresh import Result  # slow to import, and most programs never need it

    if len(entry) < _HEAD.size:
        return None
    has_ir, size, instructions = _HEAD.unpack_from(entry)
    end = _HEAD.size + size
    if end > len(entry) or has_ir != (emit in ("ir", "both")) or (size and not has_ir):
        return None
    try:
        ir = entry[_HEAD.size : end].decode(errors=_SURROGATES) if has_ir else None
    except UnicodeDecodeError:
        return None
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


def unpack_reads(entry: bytes | None) -> list[list[str]] | None:
    """Invert `pack_reads`. Returns an empty list for no entry, and None if the bytes are not an entry."""
    if not entry:
        return []
    if len(entry) > _MOST_BYTES or not entry.endswith(b"\n"):
        return None
    if entry.count(b"\n\n") + entry.startswith(b"\n") > _MOST_WAYS:
        return None
    try:
        lines = entry.decode(errors=_SURROGATES).split("\n")
    except UnicodeDecodeError:
        return None
    ways: list[list[str]] = []
    names: list[str] = []
    for line in lines[:-1]:
        if line:
            names.append(line)
        else:
            ways.append(names)
            names = []
    return None if names else ways
