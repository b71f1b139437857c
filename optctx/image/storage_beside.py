"""Storage beside the options that their values pass through on their way to LLVM's code.

Variables and tables; pointers to options in LLVM's own data, past which code reaches an option that no
instruction names; what LLVM reports through (llvm::errs(), the handler of fatal errors); and how it decides
about debug output: `DebugFlag && isCurrentDebugType(TYPE)` (llvm/Support/Debug.h).
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from typing import NamedTuple

from optctx._native import Abi, Kind, Span, Symbol, call_pointer
from optctx.errors import UnsupportedImageError
from optctx.image.abi import OptionType
from optctx.image.facts.mangled_names import (
    CURRENT_DEBUG_TYPES,
    DEBUG_FLAG,
    DEFAULTS,
    ERROR_HANDLER,
    ERROR_HANDLER_DATA,
    ERRS,
    ERRS_STREAM,
    IS_DEBUG_TYPE,
    LIST_DELETERS,
    ONCE,
    PLAIN,
    STREAM_TABLE,
    WRITE_TO_STREAM,
)
from optctx.image.loaded import Image
from optctx.image.memory import TABLE_HEAD, WORD, checking, load_words
from optctx.image.options import RegisteredOption


class StateBeside(NamedTuple):
    """A variable of LLVM's into which compilations copy what options say.

    From byte `initial_at` on, `initial` is what it holds before anything has run. `serves`: options that
    cannot be scoped unless this variable is.
    """

    address: int
    size: int
    initial_at: int
    initial: bytes
    serves: tuple[str, ...]


def find_state_beside(image: Image) -> tuple[list[StateBeside], set[str]]:
    """Return (the variables found, names of options that lack one of theirs).

    A variable that serves such an option alone is left as it is: what LLVM makes of the option when it first
    compiles would be missing in a copy.
    """
    found: list[StateBeside] = []
    missing: set[str] = set()
    whole = [*ONCE, *(((name,), ()) for name in PLAIN)]
    parts = [((name,), serves, WORD, WORD) for name, serves in DEFAULTS.items()]
    for names, serves, at, size in [*parts, *((names, serves, 0, 0) for names, serves in whole)]:
        symbol = next(filter(None, map(image.findings.object_of, names)), None)
        if symbol is None:
            missing.update(serves)
            continue
        initial = image.initial_bytes(symbol.address + at, size or symbol.size)
        found.append(StateBeside(symbol.address, symbol.size, at, initial, serves))
    return [each for each in found if not each.serves or not missing.issuperset(each.serves)], missing


class PointerTable(NamedTuple):
    """A constant table with pointers to options or to other tables, or a slot of the global offset table,
    past which code reaches what is exported: (byte in the table, address that it holds).
    """

    address: int
    size: int
    pointers: tuple[tuple[int, int], ...]


def bound_elsewhere(table: PointerTable) -> set[int]:
    """Return the addresses in a table that the loader has replaced: by those of another library."""
    return {
        target
        for at, target in table.pointers
        if load_words(table.address + at, 1, "a pointer to an option") != [target]
    }


class Pointers(NamedTuple):
    """Pointers in the image's data that lead into spans. `nameless`: (address, target) of those in no object.

    Those that only static initialisers read do not matter: the linker's constant pools are full of them.
    """

    tables: list[PointerTable]
    nameless: list[tuple[int, int]]

    def windows(self) -> list[tuple[int, int]]:
        """Return (address, bytes) of the spans that code refers to if it reads a nameless pointer."""
        reach = 64  # bytes of the longest vector load, which reads its neighbours too
        spans: list[tuple[int, int]] = []
        for at, _ in sorted(self.nameless):
            begin = max(at - reach, sum(spans[-1]) if spans else 0)
            spans.append((begin, at + WORD - begin))
        return spans

    def loose(self, accesses: list[tuple[int, int]]) -> list[int]:
        """Return the targets of the nameless pointers that one of the (address, bytes) accesses reads."""
        return [
            target
            for at, target in self.nameless
            if any(address < at + WORD and address + max(size, 1) > at for address, size in accesses)
        ]


def find_pointers(image: Image, spans: list[tuple[int, int]]) -> Pointers:
    """Find the pointers in the image's data that lead into the (address, bytes) spans, or to other ones."""
    tables: dict[tuple[int, int], list[tuple[int, int]]] = {}
    nameless = []
    while spans:
        known = set(tables)
        for at, target in image.pointers_into([Span(begin, size) for begin, size in spans]):
            symbol = image.object_at(at)
            if symbol is not None:
                tables.setdefault((symbol.address, symbol.size), []).append((at - symbol.address, target))
            elif image.is_slot(at):
                tables[at, WORD] = [(0, target)]
            else:
                nameless.append((at, target))
        spans = sorted(tables.keys() - known)
    return Pointers([PointerTable(*place, tuple(held)) for place, held in sorted(tables.items())], nameless)


class StreamTable(NamedTuple):
    """The stream's virtual functions: bytes that they take, and the index of raw_fd_ostream::write_impl."""

    size: int
    write_index: int


def find_reporting(image: Image) -> list[Symbol]:
    """Find the stream of errs(), the handler of fatal errors and its data, in this order.

    Raises UnsupportedImageError with what is not as expected.
    """
    found = []
    for fact in (ERRS_STREAM, ERROR_HANDLER, ERROR_HANDLER_DATA):
        symbol = image.findings.need_object(fact)
        with checking(image.path):
            load_words(symbol.address, symbol.size // WORD, fact.what)
        found.append(symbol)
    # The stream is made at the first call; from then on it is where its symbol says.
    made = call_pointer(image.findings.need(ERRS).address)
    with checking(image.path):
        if found[0].address == made and load_words(made, 5, "llvm::errs()")[2:] == [0, 0, 0]:
            return found
    raise UnsupportedImageError(
        f"{image.path}: llvm::errs() is not the unbuffered stream that its symbol says"
    )


def find_stream_table(image: Image, stream: Symbol) -> StreamTable:
    """Find the vtable that the stream uses. Raises UnsupportedImageError if it is not raw_fd_ostream's."""
    with checking(image.path):
        (begin,) = load_words(stream.address, 1, "llvm::errs()")
    symbol = image.findings.object_at(begin) if image.contains(begin) else None
    table, write = image.findings.need(STREAM_TABLE), image.findings.need(WRITE_TO_STREAM).address
    if symbol is None or symbol.address != table.address or begin != table.address + TABLE_HEAD:
        raise UnsupportedImageError(
            f"{image.path}: the virtual functions of llvm::errs() are not those of {table.symbol}"
        )
    with checking(image.path):
        words = load_words(begin, (symbol.size - TABLE_HEAD) // WORD, table.symbol)
    if write not in words:
        raise UnsupportedImageError(
            f"{image.path}: expected {WRITE_TO_STREAM.what} in {table.symbol}, found no such entry"
        )
    return StreamTable(symbol.size - TABLE_HEAD, words.index(write))


_LIST_WORDS = 3  # of an llvm::ManagedStatic: {object, deleter, next}


class DebugTypes(NamedTuple):
    """The static list of types. `size` and `type_size`, of one type, in bytes; `abi`: of its name."""

    address: int
    size: int
    type_size: int
    abi: Abi


class Printing(NamedTuple):
    """`option` is `debug`, and `debug_only` the other one that raises the flag. `types`: the list that
    `debug_only` adds to, and that the function called `asked` reads."""

    option: RegisteredOption
    debug_only: RegisteredOption
    types: DebugTypes
    asked: str  # mangled

    @property
    def options(self) -> tuple[RegisteredOption, RegisteredOption]:
        """Both options, whose values LLVM reads in one place."""
        return self.option, self.debug_only


def find_debug_types(image: Image) -> DebugTypes:
    """Find the list of types, which is empty unless some were given. Makes LLVM create it.

    Raises UnsupportedImageError if the image lacks it, or if its types are not what their reader says.
    """
    symbol, asked = image.findings.need_object(CURRENT_DEBUG_TYPES), image.findings.need(IS_DEBUG_TYPE)
    call_pointer(asked.address, ctypes.addressof(ctypes.create_string_buffer(b"optctx")))
    with checking(image.path):
        _, deleter, _ = load_words(symbol.address, _LIST_WORDS, CURRENT_DEBUG_TYPES.what)
    function = image.findings.function_at(deleter) if image.contains(deleter) else None
    name = "none" if function is None else function.name
    has_level, size, abi = LIST_DELETERS.get(name, (None, 0, Abi.libcxx))
    if has_level != asked.form:
        raise UnsupportedImageError(
            f"{image.path}: expected a list of strings of libstdc++'s to be what {asked.symbol} reads, found "
            f"that {name} deletes it"
        )
    return DebugTypes(symbol.address, symbol.size, size, abi)


def find_printing(image: Image, registered: Iterable[RegisteredOption]) -> Printing:
    """Find how LLVM decides about debug output, which an LLVM built without assertions does not have.

    Raises UnsupportedImageError if anything is not as in an LLVM that has it.
    """
    types = find_debug_types(image)
    flag = image.findings.need(DEBUG_FLAG).address
    options = {name: each for each in registered for name in each.names}
    option, debug_only = options.get("debug"), options.get("debug-only")
    if option is None or debug_only is None:
        raise UnsupportedImageError(f"{image.path}: expected the options debug and debug-only")
    plain = option.type.kind == Kind.boolean and option.type.external and not option.callback
    if not plain or option.variable != flag or option.variable_size != 1 or option.heap_size is None:
        raise UnsupportedImageError(
            f"{image.path}: the option debug is not a plain one that sets {DEBUG_FLAG.what}"
        )
    if debug_only.type != OptionType(Kind.other, external=True) or debug_only.heap_size is None:
        raise UnsupportedImageError(f"{image.path}: the option debug-only is not of the class that is known")
    return Printing(option, debug_only, types, image.findings.need(IS_DEBUG_TYPE).symbol)
