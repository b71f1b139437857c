"""What LLVM reports through: llvm::errs(), and the handler of fatal errors."""

from __future__ import annotations

from typing import NamedTuple

from optctx._native import Image, call_pointer
from optctx.errors import UnsupportedImageError
from optctx.image.facts.fact import find_object, need
from optctx.image.facts.names import (
    ERROR_HANDLER,
    ERROR_HANDLER_DATA,
    ERRS,
    ERRS_STREAM,
    STREAM_TABLE,
    WRITE_TO_STREAM,
)
from optctx.image.findings import findings_of
from optctx.image.memory import WORD, checking, load_words

__all__ = ["ReportingObject", "StreamTable", "find_reporting", "find_stream_table"]

_TABLE_HEAD = 16  # bytes of offset-to-top and RTTI before the address point


class ReportingObject(NamedTuple):
    """`address` is absolute; `size` in bytes."""

    address: int
    size: int


class StreamTable(NamedTuple):
    """The stream's virtual functions: bytes that they take, and the index of raw_fd_ostream::write_impl."""

    size: int
    write_index: int


def find_reporting(image: Image) -> list[ReportingObject]:
    """errs()'s stream, the fatal error handler, its data.

    Raises UnsupportedImageError with what is not as expected.
    """
    found = []
    for fact in (ERRS_STREAM, ERROR_HANDLER, ERROR_HANDLER_DATA):
        need(image, fact)
        symbol = find_object(image, fact)
        if symbol is None:
            raise UnsupportedImageError(f"{image.path}: expected {fact.what} to be an object, found none")
        with checking(image.path):
            load_words(symbol.address, symbol.size // WORD, fact.what)
        found.append(ReportingObject(symbol.address, symbol.size))
    # The stream is made at the first call; from then on it is where its symbol says.
    made = call_pointer(need(image, ERRS).address)
    with checking(image.path):
        if found[0].address == made and load_words(made, 5, "llvm::errs()")[2:] == [0, 0, 0]:
            return found
    raise UnsupportedImageError(
        f"{image.path}: llvm::errs() is not the unbuffered stream that its symbol says"
    )


def find_stream_table(image: Image, stream: ReportingObject) -> StreamTable:
    """The vtable that the stream uses. Raises UnsupportedImageError if that is not raw_fd_ostream's."""
    with checking(image.path):
        (begin,) = load_words(stream.address, 1, "llvm::errs()")
    symbol = findings_of(image).object_at(begin) if image.contains(begin) else None
    table, write = need(image, STREAM_TABLE), need(image, WRITE_TO_STREAM).address
    if symbol is None or symbol.address != table.address or begin != table.address + _TABLE_HEAD:
        raise UnsupportedImageError(
            f"{image.path}: the virtual functions of llvm::errs() are not those of {table.symbol}"
        )
    with checking(image.path):
        words = load_words(begin, (symbol.size - _TABLE_HEAD) // WORD, table.symbol)
    if write not in words:
        raise UnsupportedImageError(
            f"{image.path}: expected {WRITE_TO_STREAM.what} in {table.symbol}, found no such entry"
        )
    return StreamTable(symbol.size - _TABLE_HEAD, words.index(write))
