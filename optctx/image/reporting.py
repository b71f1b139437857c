"""What LLVM reports through: llvm::errs(), and the handler of fatal errors."""

from __future__ import annotations

from dataclasses import dataclass

from optctx._native import Image, call_pointer
from optctx.errors import UnsupportedImageError
from optctx.image.memory import WORD, checking, load_words

__all__ = ["ReportingObject", "StreamTable", "find_reporting", "find_stream_table"]

_ERRS = "_ZN4llvm4errsEv"
_STREAM, _HANDLER, _DATA = "_ZZN4llvm4errsEvE1S", "_ZL12ErrorHandler", "_ZL20ErrorHandlerUserData"
_TABLE = "_ZTVN4llvm14raw_fd_ostreamE"
_WRITE = "_ZN4llvm14raw_fd_ostream10write_implEPKcm"
_TABLE_HEAD = 16  # bytes of offset-to-top and RTTI before the address point


@dataclass(frozen=True)
class ReportingObject:
    """`address` is absolute; `size` in bytes."""

    address: int
    size: int


@dataclass(frozen=True)
class StreamTable:
    """The stream's virtual functions: bytes that they take, and the index of raw_fd_ostream::write_impl."""

    size: int
    write_index: int


def find_reporting(image: Image) -> list[ReportingObject]:
    """errs()'s stream, the fatal error handler, its data.

    Raises UnsupportedImageError with what is not as expected.
    """
    function = image.symbol(_ERRS)
    found = []
    for name in (_STREAM, _HANDLER, _DATA):
        address = image.symbol(name)
        symbol = image.object_at(address) if address is not None else None
        if symbol is None or symbol.address != address:
            raise UnsupportedImageError(f"{image.path}: expected an object called {name}, found none")
        with checking(image.path):
            load_words(symbol.address, symbol.size // WORD, name)
        found.append(ReportingObject(symbol.address, symbol.size))
    # The stream is made at the first call; from then on it is where its symbol says.
    made = call_pointer(function) if function is not None else 0
    with checking(image.path):
        if found[0].address == made and load_words(made, 5, "llvm::errs()")[2:] == [0, 0, 0]:
            return found
    raise UnsupportedImageError(f"{image.path}: llvm::errs() is not the unbuffered stream {_STREAM}")


def find_stream_table(image: Image, stream: ReportingObject) -> StreamTable:
    """The vtable that the stream uses. Raises UnsupportedImageError if that is not raw_fd_ostream's."""
    with checking(image.path):
        (begin,) = load_words(stream.address, 1, "llvm::errs()")
    symbol = image.object_at(begin) if image.contains(begin) else None
    write = image.symbol(_WRITE)
    if symbol is None or symbol.name != _TABLE or begin != symbol.address + _TABLE_HEAD:
        raise UnsupportedImageError(
            f"{image.path}: the virtual functions of llvm::errs() are not those of {_TABLE}"
        )
    with checking(image.path):
        words = load_words(begin, (symbol.size - _TABLE_HEAD) // WORD, _TABLE)
    if write not in words:
        raise UnsupportedImageError(f"{image.path}: expected {_WRITE} in {_TABLE}, found no such entry")
    return StreamTable(symbol.size - _TABLE_HEAD, words.index(write))
