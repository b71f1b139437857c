"""Native part of optctx: image, patching, views. Not a public interface."""

from collections.abc import (
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence
)
import contextlib
import enum
from types import TracebackType
from typing import Any, Self, TypeVar, overload


def set_callbacks(**functions: Callable[..., object]) -> None:
    """
    Set functions that native code calls back in this process, by the names in native/python/callbacks.hpp. Raises ValueError for another name. A function stays alive for good.
    """

class MisfitError(RuntimeError):
    pass

class Symbol:
    """
    A function or object of an image: absolute address, size in bytes, mangled name.
    """

    @property
    def address(self) -> int: ...

    @property
    def size(self) -> int: ...

    @property
    def number(self) -> int: ...

    @property
    def name(self) -> str: ...

class Library:
    """A shared library of this process, with the symbols of its file."""

    def __init__(self, path: str, base: int) -> None: ...

    @property
    def path(self) -> str: ...

    @property
    def base(self) -> int: ...

    @property
    def build_id(self) -> str: ...

    @property
    def text_begin(self) -> int: ...

    @property
    def text_end(self) -> int: ...

    def symbol(self, name: str) -> int | None:
        """Absolute address of a mangled name, or None."""

    def function_at(self, address: int) -> Symbol | None:
        """The function whose code holds the address, or None."""

    def object_at(self, address: int) -> Symbol | None:
        """The object whose storage holds the address, or None."""

    def named(self, name: str) -> Symbol | None:
        """The function or object with this mangled name, or None."""

    def numbered(self, number: int) -> Symbol | None:
        """The function or object in that place of the symbol table, or None."""

    def files(self) -> list[tuple[int, str]]:
        """
        [(number, name)] of each source file in the symbol table. The local symbols of a file follow it.
        """

    @property
    def end_of_files(self) -> int:
        """Symbols with smaller numbers are local to the file before them."""

    def local_neighbours(self, address: int, functions: bool) -> tuple[Symbol | None, Symbol | None]:
        """
        The nearest functions, or objects, local to a file that begin before the address and after it.
        """

    def functions_named(self, patterns: Sequence[tuple[str, str]]) -> list[list[Symbol]]:
        """
        For each (prefix, infix), the functions whose mangled name starts with the one and holds the other after that; the image must outlive the answer.
        """

    def initial_bytes(self, address: int, size: int) -> bytes:
        """What the file says is there before anything has run; zeros in .bss."""

    def contains(self, address: int) -> bool: ...

    @property
    def identity(self) -> tuple[int, int, int, int, int]:
        """
        The library's file: device, inode, bytes, times of the last change of its content and of its status, in nanoseconds.
        """

    def forget_symbols(self) -> None:
        """
        Frees the index of symbols; what is asked for later is worked out again.
        """

    def release_pages(self) -> None:
        """
        Takes the file's pages out of resident memory; what is asked for later is read again.
        """

def loaded_libraries() -> list[tuple[str, int]]:
    """(path, base) of every shared library in this process."""

class Span:
    def __init__(self, begin: int, size: int) -> None: ...

def find_data_pointers(image: Library, spans: Sequence[Span]) -> list[tuple[int, int]]: ...

class RawOption:
    """The common part of a cl::Option object, read in place."""

    @property
    def vtable(self) -> int: ...

    @property
    def occurrences(self) -> int: ...

    @property
    def position(self) -> int: ...

    @property
    def help(self) -> str: ...

    @property
    def hidden(self) -> int: ...

    @property
    def misc(self) -> int: ...

    @property
    def value_expected(self) -> int: ...

    @property
    def categories(self) -> list[str]: ...

def option_at(address: int) -> RawOption: ...

def walk_registry(map: int) -> tuple[str, list[tuple[str, int]]]:
    """
    (layout, [(name, address of the Option)] by name) after checking every entry.
    """

class LateOption:
    """An option that was registered late, under one name."""

    @property
    def name(self) -> str: ...

    @property
    def address(self) -> int: ...

    @property
    def vtable(self) -> int: ...

    def __eq__(self, other: object, /) -> bool: ...

class LateOptions:
    """
    The options of a map that `walk_registry` has proven, without those it had then.
    """

    def __init__(self, layout: str, map: int, known: Sequence[int]) -> None: ...

    def find(self) -> list[LateOption]:
        """
        By name, each proven. MisfitError if other threads do not stop registering.
        """

class RegistryCopy:
    """
    A copy of a map of options that `walk_registry` has proven, with other objects.
    """

    def __init__(self, layout: str, map: int, instead_of: Mapping[int, int]) -> None: ...

    @property
    def map(self) -> int: ...

    def is_current(self, map: int) -> bool:
        """Whether `map` still has the entries that were copied."""

def registry_layouts() -> list[str]:
    """The names of the layouts that `walk_registry` knows."""

def read_checked(address: int, size: int, what: str) -> bytes:
    """
    Bytes of memory whose layout is in doubt, `what` they are taken for; MisfitError if they cannot be read.
    """

def words_match(image: Library, objects: Sequence[int], checks: bytes) -> bool:
    """Whether every packed check of words of the objects (addresses) holds."""

def trim_heap() -> None:
    """Give the heap's free pages back to the system."""

def read_words(address: int, count: int) -> list[int]: ...

def read_bytes(address: int, count: int) -> bytes: ...

def demangle(name: str) -> str: ...

def call_pointer(function: int, argument: int = 0) -> int: ...

def call_all(calls: Sequence[Sequence[int]]) -> None: ...

def call_virtual_uint(object: int, index: int) -> int: ...

def call_virtual_pointer(object: int, index: int, argument: int) -> int: ...

def call_virtual_text(object: int, index: int, argument: int) -> str: ...

class FunctionReferences:
    """Candidate references of one function."""

    @property
    def function(self) -> Symbol: ...

    @property
    def places(self) -> list[int]: ...

def find_references(image: Library, spans: Sequence[Span]) -> list[FunctionReferences]:
    """
    Candidate references into the spans, by function; the image must outlive the answer.
    """

def find_references_to_each(image: Library, spans: Sequence[Sequence[Span]]) -> list[list[FunctionReferences]]:
    """The same for several lists of spans."""

def find_references_in(image: Library, spans: Sequence[Span], functions: Sequence[int]) -> list[FunctionReferences]:
    """The same in the functions of these numbers."""

def locate(image: Library, references: FunctionReferences) -> list[tuple[int, int, int]] | None:
    """
    (address, length, index of the byte that names the operand) of each instruction at the places, or None if the function has an unusual one on the way.
    """

def instruction_length(code: bytes) -> tuple[int, int] | None:
    """
    (length, index of the byte that names a relative operand or 0), or None for an unusual instruction.
    """

def find_branches(image: Library, targets: Sequence[int]) -> list[tuple[int, int]]:
    """
    (address, target) of candidates for direct calls and jumps to the targets.
    """

def rewrite(instruction: bytes, operand_at: int, scratch: int, offset: int) -> bytes:
    """
    The instruction with its operand `offset` bytes past the register `scratch`.
    """

def check_sites(image: Library, sites: bytes) -> None:
    """
    MisfitError if the library's file does not have the instructions that the packed sites say, but for where they begin.
    """

class Trampolines:
    """What runs instead of thousands of instructions."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[tuple[int, bytes, bytes]]:
        """(address, bytes of the instruction, what runs instead) of each."""

def trampolines(image: Library, sites: bytes, words: bytes, loads: bytes, thread_offset: int) -> Trampolines:
    """
    What runs instead of each packed site; MisfitError if the library's file does not have such instructions.
    """

def group_readers(sites: bytes, slots: dict[int, int]) -> tuple[bytes, bytes]:
    """
    (packed readers, index of the reader of each packed site). `slots`: by region, from the image's base.
    """

def site_words(sites: bytes, slots: dict[int, int], readers: bytes, first: int) -> tuple[bytes, bytes]:
    """
    For each packed site (the word of the view that it goes through, whether that leads to an address that it takes). `readers`: what `group_readers` gave; `first`: the word of the first one.
    """

class Uses:
    """What the sites of one region do with it."""

    @property
    def writes(self) -> bool: ...

    @property
    def writes_head(self) -> bool:
        """At the first byte: a constructor does."""

    @property
    def takes_address(self) -> bool: ...

    @property
    def functions(self) -> tuple[int, ...]:
        """Numbers of symbols, in the order of the code."""

def group_uses(sites: bytes, base: int) -> dict[int, Uses]:
    """
    By the address of a region, what the packed sites of an image at `base` do with it.
    """

class Transaction:
    """Redirected instructions of one image: prepare, commit, undo."""

    def __init__(self, sites: Iterable[tuple[int, bytes, bytes]], text_begin: int, text_end: int, trampolines: Trampolines | None = None) -> None:
        """
        `sites`: (address, bytes of the instruction, what runs instead) of each site; beside them the `trampolines`.
        """

    def commit(self, fail_at: int = 0) -> None: ...

    def undo(self, fail_at: int = 0) -> None: ...

    @property
    def committed(self) -> bool: ...

    @property
    def trampoline_bytes(self) -> int: ...

    @property
    def pages(self) -> int: ...

    def trampoline_of(self, site: int) -> int: ...

    def __len__(self) -> int: ...

class Kind(enum.Enum):
    boolean = 0

    bool_or_default = 1

    int32 = 2

    uint32 = 3

    int64 = 4

    uint64 = 5

    float32 = 6

    float64 = 7

    character = 8

    string = 9

    enumeration = 10

    list = 11

    bits = 12

    other = 13

    set = 14

class Role(enum.Enum):
    option = 0

    variable = 1

    state = 2

    runtime = 3

    decision = 4

class Ownership(enum.Enum):
    none = 0

    string = 1

    list = 2

    list_of_strings = 3

    shared_pointer = 4

    set = 5

class Region:
    """A piece of LLVM's static storage that is redirected as a whole."""

    def __init__(self, live: int, size: int, role: Role, kind: Kind = Kind.other, ownership: Ownership = Ownership.none, scoped: bool = False, written: bool = False, escapes: bool = False) -> None: ...

    @property
    def live(self) -> int: ...

    @live.setter
    def live(self, arg: int, /) -> None: ...

    @property
    def size(self) -> int: ...

    @size.setter
    def size(self, arg: int, /) -> None: ...

    @property
    def role(self) -> Role: ...

    @role.setter
    def role(self, arg: Role, /) -> None: ...

    @property
    def kind(self) -> Kind: ...

    @kind.setter
    def kind(self, arg: Kind, /) -> None: ...

    @property
    def ownership(self) -> Ownership: ...

    @ownership.setter
    def ownership(self, arg: Ownership, /) -> None: ...

    @property
    def variable(self) -> int: ...

    @variable.setter
    def variable(self, arg: int, /) -> None: ...

    @property
    def value_offset(self) -> int: ...

    @value_offset.setter
    def value_offset(self, arg: int, /) -> None: ...

    @property
    def has_defaults(self) -> bool: ...

    @has_defaults.setter
    def has_defaults(self, arg: bool, /) -> None: ...

    @property
    def scoped(self) -> bool: ...

    @scoped.setter
    def scoped(self, arg: bool, /) -> None: ...

    @property
    def written(self) -> bool: ...

    @written.setter
    def written(self, arg: bool, /) -> None: ...

    @property
    def escapes(self) -> bool: ...

    @escapes.setter
    def escapes(self, arg: bool, /) -> None: ...

    @property
    def shared(self) -> bool: ...

    @shared.setter
    def shared(self, arg: bool, /) -> None: ...

    @property
    def has_default(self) -> bool: ...

    @has_default.setter
    def has_default(self, arg: bool, /) -> None: ...

    def set_initial(self, at: int, initial: bytes) -> None:
        """Set the bytes with which a context starts, from byte `at` on."""

    def add_pointer(self, at: int, slot: int, offset: int) -> None:
        """
        Make the word at byte `at` a pointer to byte `offset` of the region of `slot`.
        """

class OsError(RuntimeError):
    pass

NO_SLOT: int = 4294967295

OCCURRENCES_AT: int = 8

POSITION_AT: int = 12

MAX_IMAGES: int = 8

def thread_offset(image: int) -> int: ...

def identity_view(image: int) -> int:
    """
    Return the address of the words through which LLVM reads outside every scope.
    """

class ParseError(ValueError):
    pass

class GoneError(RuntimeError):
    pass

class NativeScopeError(RuntimeError):
    pass

class Patch:
    """The storage of one region in a setting."""

    @property
    def slot(self) -> int: ...

    @property
    def address(self) -> int: ...

class Setting:
    """The storage that gives options their values."""

    def __len__(self) -> int: ...

    @property
    def patches(self) -> list[Patch]: ...

    def is_same(self, arg: Setting, /) -> bool: ...

class Space:
    """The regions of one image and their registered values."""

    @staticmethod
    def redirected(image: int, regions: Sequence[Region], set_default: Sequence[int], add_occurrence: int, reporting: tuple[int, int, int], readers: bytes) -> Space:
        """
        Make a space for an image whose reads go through views. It is never freed: threads inside contexts and LLVM itself may hold addresses. `reporting`: slots of the objects through which LLVM reports. `readers`: packed.
        """

    @staticmethod
    def in_place(image: int, regions: Sequence[Region], set_default: Sequence[int], add_occurrence: int, reporting: tuple[int, int, int], vtable_size: int, write_index: int) -> Space:
        """
        Make a space for an image that is not patched. `reporting`: addresses of the objects through which LLVM reports; `vtable_size`: bytes of the stream's vtable; `write_index`: index of write_impl in it.
        """

    def default_address(self, slot: int) -> int: ...

    def scope_debugging(self, flag: int, location: int, types: int, type_size: int, debug_only: int, flag_slot: int, types_slot: int) -> None:
        """
        Give debug output only to threads inside a context with `debug`. Takes addresses, bytes and slots. Call before anything is redirected.
        """

    def parse(self, slot: int, name: str, values: Sequence[str | None]) -> Setting: ...

    def no_drift(self) -> Setting: ...

    def drift(self) -> Setting: ...

class Reads:
    """Which readers have read."""

    @staticmethod
    def make(space: Space) -> Reads: ...

    @staticmethod
    def inherit(space: Space, outer: Reads, hidden: Sequence[int]) -> Reads:
        """
        Make marks that also mark in `outer`, except readers of the slots in `hidden`.
        """

class Sets(enum.Enum):
    """
    What becomes of values that code inside a context gives to LLVM's setters.
    """

    contain = 0

    process = 1

    error = 2

class Context:
    """A full set of option values."""

    @staticmethod
    def make(space: Space, base: Setting, overrides: Sequence[Setting], process_wide: ProcessWide | None = None, reads: Reads | None = None, sets: Sets = Sets.contain) -> Context:
        """
        Make a context: the registered values, then `base`, then `overrides`. While a thread is inside, `process_wide` affects every thread.
        """

    @property
    def changed(self) -> list[int]:
        """Slots whose regions differ from what was registered."""

    @property
    def overridden(self) -> list[int]:
        """Slots of the overrides."""

    def text(self, slot: int) -> bytes:
        """
        Return the text that LLVM parsed into the value, equal for equal occurrences; empty if it is not known.
        """

    @property
    def process_wide_text(self) -> str:
        """
        Equal for equal process-wide changes of an image, and only for those; empty without any.
        """

    def keep_apart(self) -> None:
        """
        Where threads take turns, give every entry a turn of its own. Call before the first entry.
        """

    @property
    def reads(self) -> Reads:
        """The marks of readers, or None."""

    def take_reads(self) -> list[int] | None:
        """
        Return the indexes of the readers that read since the last call, or None if a thread is inside.
        """

    def address(self, slot: int) -> int: ...

class GateError(RuntimeError):
    pass

class Change:
    """The change of one option in LLVM's own object, and how to undo it."""

    def __init__(self, option: int, name: str, texts: Sequence[str | None], kind: Kind, value_offset: int, has_defaults: bool, variable: tuple[int, int], state: tuple[int, int], debug_types: tuple[int, int], late: tuple[LateOptions, LateOption] | None = None) -> None:
        """
        `variable` and `state` are (address, size in bytes), or (0, 0) if there is none. `debug_types`: the same for llvm::CurrentDebugType, with the size of one type. `late`: for an option that can be removed, where to look whether it was.
        """

class ProcessWide:
    """A set of changes to LLVM's own options."""

    @staticmethod
    def make(space: Space, changes: Sequence[Change], text: str, set_debug_types: int) -> ProcessWide: ...

def read_scalar(kind: Kind, address: int) -> bool | int | int | float | str: ...

def read_list(element: Kind, element_size: int, address: int) -> list[bool | int | int | float | str]: ...

def read_set(address: int) -> list[bool | int | int | float | str]: ...

def use_task_variable(variable: object) -> None:
    """
    Set the ContextVar in which tasks keep the mark of their innermost scope.
    """

def leave_all() -> None:
    """Leave every scope and recording of this thread and its task."""

R = TypeVar("R")

def inside(manager: contextlib.AbstractContextManager[object], function: Callable[..., R], /, *arguments: object) -> R:
    """
    Run `with manager: return function(*arguments)`, executing no instruction of the interpreter in between.
    """

def inside_if_free(lock: object, function: Callable[[], R], /) -> R | None:
    """
    Do the same with a lock, without waiting. Returns None and calls nothing if the lock is not free.
    """

class ScopeBase:
    def _give(self, native: Context, judged: bool, /) -> None: ...
    def _run(self, function: object, arguments: tuple[object, ...], keywords: dict[str, Any], /) -> object: ...
    @property
    def _native(self) -> Context: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        value: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None: ...

def in_line() -> bool:
    """Return whether LLVM sees the running task's scope on this thread."""

def share_storage_from(depth: int) -> int:
    """
    Have the scopes of a thread in an image share storage, from this many on. Return the number until now.
    """

def suspended() -> object:
    """
    Return the mark of the innermost scope of this thread if another task, which is suspended, is inside it; otherwise None.
    """

def library_calls(image: int) -> tuple[Callable[[], None], Callable[[], None]]:
    """
    Return the functions to call at the beginning and at the end of each call into the library with its lock held. In between, LLVM sees the running task's scope. They never raise.
    """

def begin_compilation(image: int) -> None:
    """
    Show the running task's scope to LLVM until `end_compilation`, for calls without llvmlite's lock. Waits while options are changed process-wide, and counts this thread among those inside LLVM.
    """

def end_compilation(image: int) -> None: ...

def watch_context_switches() -> bool:
    """
    Make threads follow their tasks from now on. Returns False if the interpreter does not report switches (before 3.14).
    """

def simulate_context_switches(on: bool) -> None:
    """
    Follow switches as after `watch_context_switches`, with manual calls of `context_switched`. For tests.
    """

def context_switched() -> None: ...

def take_turns(image: int) -> None:
    """
    Make threads take turns at the image's own storage, permanently. Call before its first scope.
    """

def process_ends() -> None:
    """Make threads that end stay inside their scopes from now on."""

def active_scopes() -> int:
    """
    Return the number of scopes entered now in this process, on all threads.
    """

class Subject(enum.Enum):
    module = 0

    function = 1

    llvm_context_that_begins = 2

    llvm_context_that_ends = 3

    unfinished = 5

    machine = 4

class Skip(enum.Enum):
    never = 0

    empty_manager = 1

    return_zero = 2

    fail_with_text = 3

    leave_unfinished = 4

class MachineUse(enum.Enum):
    work = 0

    begin = 1

    end = 2

    reset_options = 3

    emit = 4

    lowering = 5

class ParserFunction(enum.Enum):
    """A function of LLVM's command line parser."""

    parse = 0

    reset_all = 1

    reset_parser = 2

    registered = 3

@overload
def pack_interception(image: int, argument: int, handler: tuple[Subject, Skip]) -> int:
    """
    Pack what the code in front of an intercepted function passes to `interceptors()[0]`. `argument`: the index of what the handler is about. `handler`: (Subject, Skip), MachineUse or ParserFunction.
    """

@overload
def pack_interception(image: int, argument: int, handler: MachineUse) -> int: ...

@overload
def pack_interception(image: int, argument: int, handler: ParserFunction) -> int: ...

def interceptors() -> tuple[int, int, int]:
    """
    Return the addresses of the functions that run before and after an intercepted function, and the result that skips it.
    """

class PointerTransaction:
    """Pointers in virtual function tables."""

    def __init__(self, changes: Sequence[tuple[int, int, int]]) -> None:
        """`changes`: (address of the pointer, current value, new value)."""

    def commit(self) -> None: ...

    def undo(self) -> None: ...

    @property
    def committed(self) -> bool: ...

    def __len__(self) -> int: ...

class SharedPointers:
    """Pointers that are changed while they have a user."""

    def __init__(self, changes: Sequence[tuple[int, int, int]]) -> None:
        """`changes`: (address of the pointer, current value, new value)."""

    @property
    def committed(self) -> bool: ...

    def __len__(self) -> int: ...

def place_code(code: bytes, near_begin: int, near_end: int) -> int:
    """
    Copy the code to executable memory that is never freed. Returns its address.
    """

class OnMismatch(enum.Enum):
    switch_over = 0

    warn = 1

    error = 2

def configure_bindings(image: int, calls: Sequence[int]) -> None:
    """
    `calls`: LLVMGetModuleContext, -FirstFunction, -NextFunction, -GlobalParent, -StringAttributeAtIndex, -StringAttributeValue, LLVMGetTarget, LLVMGetTargetMachineTriple, by address.
    """

def run_counts(image: int) -> tuple[int, int]:
    """
    How often the image began to work on a module, since the process began: (on every thread, on this one).
    """

def count_attributes(image: int, count: bool) -> None:
    """
    Set whether the function attribute "optctx" counts in the image, on every thread.
    """

def attributes_switch(image: int) -> int:
    """Return the address of the byte that is 0 unless they count."""

class Outside(enum.Enum):
    allow = 0

    warn = 1

    error = 2

    defaults = 3

def outside_rule(image: int) -> Outside:
    """Return the rule for LLVM's work outside every scope."""

def set_outside_rule(image: int, rule: Outside, defaults: Context | None, owner: object | None) -> int:
    """
    Change the rule, on every thread. Returns the number of runs outside every scope that go on under another rule; if it is not 0, nothing was changed. `defaults`: a context of the registered values, with its owner.
    """

def reset_outside_rule(image: int) -> None:
    """Allow work outside every scope again, whatever is going on."""

MOST_ATTRIBUTES: int = 1024

def bind(llvm_context: int, context: Context, owner: object, on_mismatch: OnMismatch) -> bool:
    """
    Bind an LLVMContext of the context's image. Returns False if it is already bound.
    """

def unbind(image: int, llvm_context: int) -> object:
    """Unbind an LLVMContext. Returns the owner of the binding, or None."""

def bound(image: int, llvm_context: int) -> tuple[object, OnMismatch]:
    """Return (owner of the binding or None, what happens on a mismatch)."""

def bound_count() -> int:
    """Return the number of bound LLVMContexts in this process."""

class Binding:
    """A binding of an LLVMContext."""

def binding_of_module(image: int, module: int) -> Binding:
    """Return the binding of the module's LLVMContext, or None."""

def expecting_llvm_contexts(image: int, bindings: Sequence[Binding | None], function: Callable[..., R], /, *arguments: object) -> R:
    """
    Call the function and bind the LLVMContexts that the image makes for LLJIT on this thread during the call, in this order; None leaves one unbound. Afterwards restores the bindings that an outer call still expects.
    """

def values_here(image: int) -> tuple[bytes | None, bool, Any]:
    """
    Return (what tells apart the values that LLVM reads on this thread, or None outside every context; whether what was made under equal values has to be made anew, to be right and to have its reads seen; the owner of the context or None).
    """

def run_early(image: int, subject: int, kind: Subject, function: Callable[..., R], /, *arguments: object) -> R | None:
    """
    Call the function as part of LLVM's run on a module or a function (`subject`): under the values that are bound to the LLVMContext. Calls nothing if the run is refused, and leaves the reason for the enclosing call.
    """

class Lifetime:
    """
    Held by an LLVMContext and each of its modules. When the last of them drops it, LLVM disposes of the LLVMContext if that was closed. The garbage collector does not track it, so all finalisers run before it is dropped.
    """

    def __init__(self, llvm_context: int, dispose: int) -> None:
        """`llvm_context` and `dispose` are addresses."""

    def close(self) -> None:
        """Allow LLVM to dispose of the LLVMContext."""

def configure_machines(image: int, calls: Mapping[str, int], settings: Sequence[int]) -> None:
    """
    Set LLVM's functions. `calls`: addresses by the names of native/intercept/machine_copies.hpp. `settings`: those of functions that change a machine as the code generator does. Raises RuntimeError if a check of the image fails.
    """

def copying_machine(machine: int, function: Callable[..., R], /, *arguments: object) -> R:
    """
    Call the function. The TargetMachines that LLVM makes on this thread during the call have a copy of the TargetOptions of `machine`: theirs count as those that the program passed for that one.
    """

def idle_machines(image: int) -> int:
    """Return the number of idle variants of an image."""

def forget_machines(image: int) -> None:
    """Forget all machines of an image, as `restore` does. For tests."""

def use_registry(image: int, layout: str) -> None:
    """
    Set how the image's maps of options are laid out, by the name that `walk_registry` gave.
    """

def use_parser_function(image: int, function: ParserFunction, address: int) -> None:
    """Set where a function of LLVM's parser is, before it is intercepted."""

def storage_shown(image: int, slot: int) -> int | None:
    """
    Return where LLVM finds a region on this thread, inside a context: valid as long as nothing is set there. None outside.
    """

class ThreadScope:
    """What a scope of C++ code shows to a thread."""

    @property
    def native(self) -> Context: ...

    @property
    def base(self) -> Setting: ...

    @property
    def sets(self) -> Sets: ...

    @property
    def overrides(self) -> list[tuple[int, tuple[list[tuple[str, str | None]], Setting]]]:
        """[(slot, (occurrences, setting))]"""

    @property
    def changes(self) -> list[tuple[int, str, list[str | None]]]:
        """[(address of an option that cannot be scoped, name, texts)]"""

def thread_scope(image: int) -> ThreadScope | None:
    """
    Return what LLVM sees on this thread if a scope of C++ code shows it; None otherwise.
    """

def given_inside(image: int, owner: object) -> tuple[bool, dict[int, tuple[list[tuple[str, str | None]], Setting]]] | None:
    """
    Return what was given to LLVM's setters inside the context of `owner`, which LLVM sees on this thread or the task is in: (whether all options were reset, slot -> (occurrences since, their setting)), or None.
    """

def is_attached(image: int) -> bool:
    """Return whether scopes reach the image now."""

def redirect(image: int, code: Transaction, tables: PointerTransaction, setters: SharedPointers, fail_at: int = 0) -> None:
    """
    Commit both transactions and use `setters`, or none of them. Scopes reach the image from then on.
    """

def restore(image: int, code: Transaction, tables: PointerTransaction, setters: SharedPointers) -> tuple[int, int, int]:
    """
    Undo `redirect` completely if nothing uses it. Returns the numbers of (bound LLVMContexts, entered scopes, recording blocks). If all are 0, `redirect` was undone.
    """

def set_attached(image: int) -> None:
    """Attach without changing any code."""

def set_detached(image: int) -> tuple[int, int, int]:
    """
    Detach without changing any code, if nothing uses optctx. Returns the counts of `restore`.
    """

class Llvm:
    """Addresses of functions in a library of llvmlite's."""

    def __init__(self, image: int, addresses: Mapping[str, int]) -> None: ...

def run_passes(llvm: Llvm, context: int, llvmlite_lock: object, module: int, machine: int, tuning: Sequence[tuple[int, int]], text: bytes) -> tuple[bytes | None, list[bytes]] | None:
    """
    Run a pipeline. Returns (why it does not parse or None, errors), or None if the rule for work outside every scope forbids it. `llvmlite_lock`: llvmlite's lock, or None unless the LLVMContext is the global one. `machine` may be 0. `tuning`: (address of a function that sets a field of PipelineTuningOptions, value) for each field to set.
    """

def emit(llvm: Llvm, context: int, llvmlite_lock: object, module: int, machine: int, as_object: bool) -> tuple[bytes | None, bytes, list[bytes]] | None:
    """
    Emit code. Returns (code or None, why there is none, errors), or None as `run_passes` does.
    """

def compile_alone(image: int, context: int, machine: int, llvmlite_lock: object, function: Callable[..., R], /, *arguments: object) -> R:
    """
    Call the function with the locks and the scope of `run_passes`. For tests.
    """

def run_counted(image: int, function: Callable[..., R], /, *arguments: object) -> R:
    """
    Call the function in the scope of the task. No other thread changes options process-wide during the call.
    """

def held() -> dict[str, int]:
    """
    Return what this process currently holds (calls: of this thread). For tests.
    """

def held_locks() -> int:
    """
    Return the number of LLVMContexts and target machines that compilations have locked.
    """

def make_lock_safe(lock: object) -> None:
    """
    Give llvmlite's lock native methods, which no exception can interrupt half-way.
    """

class LookupTable:
    """Every option by name, for lookups from C++."""

    def __init__(self, space: Space, image: Library, late: LateOptions) -> None: ...

    def add(self, names: Sequence[str], form: tuple[str, Kind, Kind, int], value: tuple[int, int, int], object: tuple[int, int, int], how_set: tuple[int, str, int], enum_size: int, choices: Sequence[str], stored: Sequence[int]) -> None:
        """
        Add an option. `form`: (type, kind of the value, of its elements, bytes of a list's element). `value`, `object`: where to read them: (slot, offset in it) in a context, and the address in LLVM's own storage. `how_set`: (how many of the names are the option's own, why it cannot be set per thread, index of the virtual function that tells whether it takes a value, or 0). `choices`: names, each with the integer that is `stored` for it in `enum_size` bytes.
        """

    def publish(self) -> None:
        """Make lookups from C++ find these options. Empties this table."""

class LateLookups:
    """The late options of an image by name, for lookups from C++."""

    def __init__(self, index: int) -> None:
        """The image's own options were published."""

    def add(self, names: Sequence[str], form: tuple[str, Kind, Kind, int], value: tuple[int, int, int], object: tuple[int, int, int], how_set: tuple[int, str, int], enum_size: int, choices: Sequence[str], stored: Sequence[int], late: LateOption) -> None:
        """
        Add an option. `form`: (type, kind of the value, of its elements, bytes of a list's element). `value`, `object`: where to read them: (slot, offset in it) in a context, and the address in LLVM's own storage. `how_set`: (how many of the names are the option's own, why it cannot be set per thread, index of the virtual function that tells whether it takes a value, or 0). `choices`: names, each with the integer that is `stored` for it in `enum_size` bytes.
        """

    def publish(self) -> None:
        """
        Make lookups from C++ find these late options, and no others. Empties this object.
        """

def begin_lookups_with(image: int) -> None:
    """
    Make this the image of lookups from C++ that name none. Its table has been published.
    """

class UnwatchedError(RuntimeError):
    pass

class Recorder:
    """Records what LLVM reads on one thread while its block is entered."""

    @staticmethod
    def make(space: Space) -> Recorder:
        """Make a recorder. Its block starts it."""

    def keep_stacks(self, calls: Sequence[tuple[int, int, int]], thunks: tuple[int, int]) -> None:
        """
        Before the block: keep the call stack of the first read of each reader. `calls`: (begin, end, site) of the code that calls a function in place of an instruction; `thunks`: where they begin and end.
        """

    def only(self, readers: Sequence[int]) -> None:
        """
        Before the block: leave out the reads of all readers but these, unless an enclosing block wants more.
        """

    def gather(self) -> None:
        """Add what nested recorders have seen so far."""

    @property
    def complete(self) -> bool: ...

    @property
    def lost(self) -> bool:
        """Whether other code took over this thread's fault handling."""

    @property
    def seen(self) -> list[tuple[Context, list[int]]]:
        """
        [(context, or None outside every scope; indexes of the readers that read)].
        """

    @property
    def stacks(self) -> list[tuple[int, list[int], bool]]:
        """
        [(index of the reader; an address in each frame, its own first; whether outer frames are there)].
        """

    @property
    def stacks_complete(self) -> bool:
        """Whether there was room for the stack of every reader."""

class RecordingBase:
    def __enter__(self) -> Any: ...
    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        value: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None: ...

def prepare_recording(space: Space, instructions: Sequence[tuple[int, int, int, int, bool]]) -> None:
    """
    `instructions`: (address, number of the base register, reader, address of the instruction of LLVM that it stands in for, whether the register is saved on the stack) of each instruction that dereferences a reader's word.
    """

def replace_add_occurrence(image: int, add_occurrence: int) -> int:
    """
    Return the replacement for the image's `add_occurrence` in virtual function tables. Inside a context it does what that says (Sets), elsewhere it calls LLVM's function. While there are watchers, it calls what was set as `occurrence_begins` and `occurrence_ends`, before and after.
    """

def parses_under_way() -> int:
    """Return the number of options that LLVM is parsing on this thread."""

class WatcherBase:
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        value: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None: ...

def add_watcher(image: int, watcher: object, tables: SharedPointers) -> None:
    """
    Add a watcher of an image. While there is one, `tables` lead to the result of `replace_add_occurrence`.
    """

def remove_watcher(watcher: object) -> bool:
    """
    Remove a watcher. Returns whether it was present. Removing the last one of an image restores its tables.
    """

def watchers(image: int) -> tuple[WatcherBase, ...]:
    """Return the watchers of an image."""

def report_unraisable(error: object, where: object) -> None:
    """Report an exception to sys.unraisablehook."""

def native_stack() -> list[int]:
    """
    Return an address in each function that this thread executes, innermost first.
    """

def symbol_near(address: int) -> tuple[str, str]:
    """(name of an exported symbol or '', path of the library or '')."""

class Spans:
    """Pieces of memory that are read together."""

    def __init__(self, spans: Sequence[tuple[int, int]]) -> None:
        """`spans`: (address, size in bytes) of each. They must stay readable."""

    def read(self) -> bytes: ...

class CoveredStorage:
    """
    The previous contents of LLVM's storage that optctx itself has changed.
    """

    def __init__(self) -> None: ...

    def place(self, address: int) -> int:
        """
        Return where to read the storage at an address: in a copy, valid as long as this object, or in place.
        """

def process_wide_epoch(image: int) -> int:
    """
    Return the number of process-wide changes made and undone in the image: odd while changes of contexts with process_wide="exclusive" are in force.
    """

class Seen:
    """Accesses of one instruction to one region that bypassed the view."""

    @property
    def instruction(self) -> int: ...

    @property
    def address(self) -> int: ...

    @property
    def slot(self) -> int: ...

    @property
    def write(self) -> bool: ...

    @property
    def count(self) -> int: ...

class AuditReport:
    @property
    def seen(self) -> list[Seen]: ...

    @property
    def neighbours(self) -> int: ...

    @property
    def entitled(self) -> int: ...

    @property
    def steps(self) -> int: ...

    @property
    def regions(self) -> int: ...

    @property
    def pages(self) -> int: ...

    @property
    def complete(self) -> bool: ...

class AuditBase:
    def __enter__(self) -> Any: ...
    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        value: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None: ...

def audits() -> bool:
    """Whether an audit is on in this process."""
