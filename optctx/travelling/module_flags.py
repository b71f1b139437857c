"""Module flags that hold a text, for other notations of options than stamps."""

from __future__ import annotations

from typing import Final

from optctx.engine.attach import attach
from optctx.errors import OptctxError
from optctx.travelling.module_metadata import Room, TooLargeError, read_named, write_flag
from optctx.travelling.stamps import called, module_label

_FLAGS: Final = "llvm.module.flags"
# Limits, because a module may be hostile.
_MOST_FLAGS = 10_000
_MOST_OPERANDS = 4096  # of a flag
_MOST_BYTES = 1 << 16  # of a flag
_ALL_BYTES = 1 << 22  # of all


def module_called(module: object) -> str:
    """What messages call a module of llvmlite's. Raises TypeError if it is not one, OptctxError if closed."""
    return called(module_label(attach().image, module))


def read_module_flag(module: object, key: str) -> str | None:
    """Read the text of a module flag; None if the module has no such flag.

    Raises TypeError for anything but a module, and OptctxError for a closed one, a flag that is not text in
    UTF-8, and more or longer flags than any compiler writes.
    """
    where = f"cannot read the flag {key!r} of {module_called(module)}"
    try:
        room, whole = Room(_MOST_OPERANDS, _MOST_BYTES), Room(_MOST_FLAGS * _MOST_OPERANDS, _ALL_BYTES)
        flags = read_named(attach().image, module, _FLAGS, 1, _MOST_FLAGS, room, whole) or []
    except TooLargeError as error:
        raise OptctxError(
            f"{where}: at most {_MOST_FLAGS:,} flags are read, each of at most {_MOST_BYTES:,} bytes, and "
            f"{_ALL_BYTES:,} in all, but {error}; write the flag again"
        ) from None
    for flag in flags:
        if len(flag) == 3 and flag[1] == key.encode():
            if not isinstance(flag[2], bytes):
                raise OptctxError(f"{where}: expected text, found something else; write the flag again")
            try:
                return flag[2].decode()
            except UnicodeDecodeError as error:
                raise OptctxError(f"{where}: expected UTF-8: {error}; write the flag again") from None
    return None


def write_module_flag(module: object, key: str, text: str) -> None:
    """Set a module flag to a text. LLVM warns where it links modules that differ in it.

    Raises TypeError for anything but a module, OptctxError for a closed one.
    """
    write_flag(attach().image, module, key, text)
