"""What a library without a symbol table proves of itself (design/images.md).

It names what it exports, and its table for unwinding says where each function begins and ends. The rest
follows from its code and its registry: which objects are options, of which classes and sizes, which functions
run only while it is loaded, and what it reports through. What does not follow is not claimed.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from optctx._native import (
    MisfitError,
    Step,
    StepKind,
    Symbol,
    call_pointer,
    find_branches,
    option_at,
    read_checked,
    trace,
)
from optctx.image.facts.fact import Fact
from optctx.image.facts.mangled_names import (
    ALLOCATOR_FLAG,
    ANCHOR,
    AT_EXIT,
    CHOOSING_NAMED,
    CREATE_ALLOCATOR,
    DELETE,
    ERROR_HANDLER,
    ERROR_HANDLER_DATA,
    ERRS,
    ERRS_STREAM,
    GUARD,
    GUARD_ACQUIRE,
    INITIALISER,
    INSTALL_ERROR_HANDLER,
    ONCE_FUNCTION,
    PASS_REMARKS,
    PASS_REMARKS_BYTES,
    RESET_OPTION,
    STREAM_TABLE,
    VTABLE,
)
from optctx.image.loaded import Image
from optctx.image.memory import TABLE_HEAD, WORD, load_words

_PROVEN = "symbols of a stripped library"  # what is kept
_ONCE_BYTES = 4  # of a pthread_once_t
_MOST_FUNCTIONS = 64  # in a table; LLVM 22's options and their parsers have up to 11
_MOST_BYTES = 1 << 12  # of an option
_TYPE = re.compile(r"\w+")  # a mangled name
_DESTRUCTOR, _DELETING = 3, 4  # places in an option's table: see `option_functions`
_STREAM_DELETING = 1

_Added = tuple[str, int, int, bool]  # name, bytes from the base, bytes, whether it is a function


def prove_symbols(image: Image, addresses: Sequence[int]) -> None:
    """Add what is proven to the symbols of a stripped library. `addresses`: of its options.

    Raises MisfitError for what contradicts what the library exports.
    """
    base = image.base
    places = tuple(
        (address - base if image.contains(address) else None, option_at(address).vtable - base)
        for address in addresses
    )
    proven = image.findings.recall(_PROVEN, places)
    if proven is None:
        proven = _Proof(image, sorted(addresses)).symbols()
        image.findings.keep(_PROVEN, places, proven)
    image.add_symbols(proven)


def option_functions(image: Image, words: Sequence[int]) -> dict[str, int]:
    """Find the virtual functions of an option or of a parser that lists choices, as `Choices` needs them.

    `words` are its table. Their order is LLVM's; those that are exported show that it is the one known here.
    """
    anchor, reset = image.findings.find(ANCHOR), _virtual_call(image, RESET_OPTION)
    if len(words) > _DELETING and anchor is not None and words[2] == anchor.address and reset == 8:
        return {"getValueExpectedFlagDefault": 1, "setDefault": reset}
    named = {index: image.findings.find(fact) for index, fact in CHOOSING_NAMED.items()}
    if all(
        found is not None and index < len(words) and words[index] == found.address
        for index, found in named.items()
    ):
        return {"getNumOptions": 2, "getOptionEj": 3, "getDescription": 4, "getOptionValueEj": 6}
    return {}


def _virtual_call(image: Image, fact: Fact[None]) -> int | None:
    """Return the index of the only virtual function that a function calls on its first argument."""
    calls = _steps(image, fact, StepKind.virtual_call)
    return calls[0].target // WORD if len(calls) == 1 else None


def _steps(image: Image, fact: Fact[None], kind: StepKind) -> list[Step]:
    found = image.findings.find(fact)
    function = None if found is None else image.function_at(found.address)
    return [step for step in trace(image, function) or () if step.kind == kind] if function else []


class _Proof:
    def __init__(self, image: Image, addresses: Sequence[int]) -> None:
        self._image = image
        self._addresses = addresses
        self._tables: dict[int, _Added] = {}  # by address of the first function
        self._frees, self._at_exit = self._called(DELETE), self._called(AT_EXIT)

    def _called(self, name: str) -> set[int]:
        """Return what calls of this function lead to."""
        own = self._image.named(name)
        return {*self._image.slots_of(name), *(() if own is None else (own.address,))}

    def symbols(self) -> tuple[_Added, ...]:
        """Return all that is proven, in an order that is the same for each process."""
        starts = self._run_at_load()
        calls = self._calls_at_load(starts)
        options = list(self._options(_destroyed(calls, self._at_exit)))
        return (
            *(self._added(INITIALISER, each.address, each.size, True) for each in starts),
            *options,
            *(self._tables[at] for at in sorted(self._tables)),
            *self._guards(calls),
            *self._reporting(),
            *self._once_flag(),
        )

    def _added(self, name: str, address: int, size: int, is_function: bool = False) -> _Added:
        return name, address - self._image.base, size, is_function

    def _run_at_load(self) -> list[Symbol]:
        """Find the functions that the loader calls, and that nothing else can call."""
        called = {address for address in self._image.initialisers() if self._image.contains(address)}
        called -= {target for _, target in find_branches(self._image, sorted(called))}
        found = [self._image.function_at(address) for address in sorted(called)]
        return [
            each
            for each in found
            if each is not None and each.address in called and self._image.named(each.name) is None
        ]

    def _calls_at_load(self, starts: Sequence[Symbol]) -> list[Step]:
        """List the calls of functions that run at load, and of what they call: MC makes its options there."""
        image = self._image
        calls = self._calls(starts)
        called = {step.target for step in calls if image.contains(step.target)}
        functions = [image.function_at(address) for address in sorted(called)]
        calls += self._calls([each for each in functions if each is not None and each.address in called])
        return calls

    def _calls(self, functions: Iterable[Symbol]) -> list[Step]:
        steps = [step for each in functions for step in trace(self._image, each) or ()]
        return [step for step in steps if step.kind == StepKind.call]

    def _options(self, destroyed: Mapping[int, int]) -> Iterator[_Added]:
        """Find the options that are objects of their own: which their class's destructor destroys at exit."""
        image, sizes = self._image, dict[int, int | None]()
        for address, following in pairwise([*self._addresses, 1 << 64]):
            vtable = option_at(address).vtable
            functions = self._table(vtable)
            if len(functions) <= _DELETING:
                continue
            if vtable not in sizes:
                sizes[vtable] = self._size_of(functions[_DELETING])
                # Tables of what it consists of: its value, its default and its parser.
                for word in load_words(address, (sizes[vtable] or 0) // WORD, "an option"):
                    self._table(word)
            if not image.contains(address):
                continue  # on the heap
            size, exported = sizes[vtable], image.object_at(address)
            if exported is not None:
                if exported.address == address and size not in (None, exported.size):
                    raise MisfitError(
                        f"{exported.name} has {exported.size} bytes, and its destructor says {size}"
                    )
            elif size is not None and destroyed.get(address) == functions[_DESTRUCTOR]:
                if address + size > following or image.object_at(address + size - 1) is not None:
                    raise MisfitError(f"the option at {address:#x} has no room for {size} bytes")
                yield self._added("", address, size)
                if PASS_REMARKS in self._tables.get(vtable, ("",))[0]:
                    yield from self._variable(address, size, destroyed)

    def _variable(self, address: int, size: int, destroyed: Mapping[int, int]) -> Iterator[_Added]:
        """Find what `cl::location` of a `pass-remarks` option points at, an object of its own as well."""
        found = [word for word in load_words(address, size // WORD, "an option") if word in destroyed]
        if len(found) == 1 and self._image.object_at(found[0] + PASS_REMARKS_BYTES - 1) is None:
            yield self._added("", found[0], PASS_REMARKS_BYTES)

    def _size_of(self, destructor: int) -> int | None:
        """Return the bytes of the objects that a deleting destructor frees, if it says so."""
        image = self._image
        function = image.function_at(destructor) if image.contains(destructor) else None
        calls = self._calls([] if function is None else [function])
        frees = [step for step in calls if step.target in self._frees and step.first.argument == 0]
        sizes = {step.second.constant for step in frees}
        size = sizes.pop() if len(sizes) == 1 else None
        return size if size is not None and 0 < size <= _MOST_BYTES and size % WORD == 0 else None

    def _table(self, address: int) -> list[int]:
        """Read the table of virtual functions that an object may hold the address of; empty if that is none.

        It is exported, or its type's name (Itanium C++ ABI, 2.9.5) leads from the word before it.
        """
        image = self._image
        if address % WORD or not image.contains(address) or image.function_at(address) is not None:
            return []
        exported = image.object_at(address - TABLE_HEAD)
        if exported is not None:
            if exported.address != address - TABLE_HEAD or not exported.name.startswith(VTABLE):
                return []
            return load_words(address, (exported.size - TABLE_HEAD) // WORD, exported.name)
        if address in self._tables:
            return load_words(address, self._tables[address][2] // WORD - 2, "a table of virtual functions")
        name = self._type_name(address)
        functions = list(self._functions(address)) if name else []
        if functions:
            self._tables[address] = self._added(
                VTABLE + name, address - TABLE_HEAD, TABLE_HEAD + len(functions) * WORD
            )
        return functions

    def _functions(self, address: int) -> Iterator[int]:
        for at in range(address, address + _MOST_FUNCTIONS * WORD, WORD):
            (word,) = load_words(at, 1, "a virtual function")
            function = self._image.function_at(word) if self._image.contains(word) else None
            if function is None or function.address != word:
                return
            yield word

    def _type_name(self, vtable: int) -> str:
        image = self._image
        try:
            to_top, information = load_words(vtable - TABLE_HEAD, 2, "a table of virtual functions")
            before = -to_top % (1 << 64)  # bytes of the object before this base of its class
            if before > _MOST_BYTES or not image.contains(information):
                return ""
            _, name = load_words(information, 2, "the description of a type")
            text = _text(name) if image.contains(name) else ""
        except MisfitError:
            return ""
        text = text.removeprefix("*")  # of a type that other libraries cannot have
        return text if _TYPE.fullmatch(text) else ""

    def _reporting(self) -> Iterator[_Added]:
        """Find the stream of errs() with its guard, and the handler of fatal errors with its data."""
        findings = self._image.findings
        table = findings.object_of(STREAM_TABLE.names[0][0])
        stream = findings.find(ERRS)
        if table is not None and stream is not None:
            words = load_words(table.address + TABLE_HEAD, _STREAM_DELETING + 1, table.name)
            if (size := self._size_of(words[_STREAM_DELETING])) is not None:
                yield self._added(ERRS_STREAM.names[0][0], call_pointer(stream.address), size)
            yield from self._guards(_steps(self._image, ERRS, StepKind.call))
        stores = _steps(self._image, INSTALL_ERROR_HANDLER, StepKind.store)
        if [step.first.argument for step in stores] == [0, 1]:
            for fact, step in zip((ERROR_HANDLER, ERROR_HANDLER_DATA), stores, strict=True):
                yield self._added(fact.names[0][0], step.target, WORD)

    def _guards(self, calls: Iterable[Step]) -> Iterator[_Added]:
        """Find what static variables of functions are guarded by, which is no array."""
        acquire = self._called(GUARD_ACQUIRE)
        found = {step.first.constant or 0 for step in calls if step.target in acquire} - {0}
        yield from (self._added(GUARD, guard, WORD) for guard in sorted(found))

    def _once_flag(self) -> Iterator[_Added]:
        """Find what keeps LLVM from copying `regalloc` again: the word that one function hands on."""
        targets = self._called(ONCE_FUNCTION)
        calls = _steps(self._image, CREATE_ALLOCATOR, StepKind.call)
        found = [step.first.constant for step in calls if step.target in targets]
        flags = [flag for flag in found if flag is not None]
        if len(flags) == 1:
            yield self._added(ALLOCATOR_FLAG, flags[0], _ONCE_BYTES)


def _destroyed(calls: Iterable[Step], at_exit: Container[int]) -> dict[int, int]:
    """Map each static object that is destroyed at the end of the process to its destructor."""
    return {
        step.second.constant: step.first.constant
        for step in calls
        if step.target in at_exit
        if step.first.constant is not None and step.second.constant is not None
    }


def _text(address: int) -> str:
    """Read a text that ends with a zero."""
    found = b""
    while b"\0" not in found and len(found) < _MOST_BYTES:
        found += read_checked(address + len(found), WORD, "the name of a type")
    return found.partition(b"\0")[0].decode("ascii", "replace")
