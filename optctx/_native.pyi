"""Native part of optctx: image, patching, views. Not a public interface."""

from collections.abc import Callable, Iterable, Mapping, Sequence
import contextlib
import enum
from types import TracebackType
from typing import Any, Self, TypeVar


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
    def name(self) -> str: ...

class Image:
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

    @property
    def symbol_count(self) -> int: ...

    def symbol(self, name: str) -> int | None:
        """Absolute address of a mangled name, or None."""

    def function_at(self, address: int) -> Symbol | None:
        """The function whose code holds the address, or None."""

    def object_at(self, address: int) -> Symbol | None:
        """The object whose storage holds the address, or None."""

    def functions_named(self, prefix: str, infix: str = '') -> list[Symbol]:
        """
        Functions whose mangled name starts with `prefix` and holds `infix`; the image must outlive the answer.
        """

    def initial_bytes(self, address: int, size: int) -> bytes:
        """What the file says is there before anything has run; zeros in .bss."""

    def contains(self, address: int) -> bool: ...

    def release_pages(self) -> None:
        """
        Takes the file's pages out of resident memory; what is asked for later is read again.
        """

def loaded_libraries() -> list[tuple[str, int]]:
    """(path, base) of every shared library in this process."""

class Span:
    def __init__(self, begin: int, size: int) -> None: ...

class FunctionReferences:
    """Candidate references of one function."""

    @property
    def function(self) -> Symbol: ...

    @property
    def modrm_at(self) -> list[int]: ...

def find_references(image: Image, spans: Sequence[Span]) -> list[FunctionReferences]:
    """
    Candidate references into the spans, by function; the image must outlive the answer.
    """

def find_branches(image: Image, targets: Sequence[int]) -> list[tuple[int, int]]:
    """
    (address, target) of candidates for direct calls and jumps to the targets.
    """

def find_data_pointers(image: Image, spans: Sequence[Span]) -> list[tuple[int, int]]: ...

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
    def value_name(self) -> str: ...

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
    """(layout, [(name, address of the Option)]) after checking every entry."""

def read_checked(address: int, size: int, what: str) -> bytes:
    """
    Bytes of memory whose layout is in doubt, `what` they are taken for; MisfitError if they cannot be read.
    """

def read_words(address: int, count: int) -> list[int]: ...

def read_bytes(address: int, count: int) -> bytes: ...

def demangle(name: str) -> str: ...

def call_pointer(function: int, argument: int = 0) -> int: ...

def call_virtual_uint(object: int, index: int) -> int: ...

def call_virtual_pointer(object: int, index: int, argument: int) -> int: ...

def call_virtual_text(object: int, index: int, argument: int) -> str: ...

class Transaction:
    """Redirected instructions of one image: prepare, commit, undo."""

    def __init__(self, sites: Iterable[tuple[int, bytes, bytes]], text_begin: int, text_end: int) -> None:
        """
        `sites`: (address, bytes of the instruction, what is to run instead) of each.
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

    def __init__(self, live: int, size: int, role: Role) -> None: ...

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
        """What a context starts with from byte `at` on."""

    def add_pointer(self, at: int, slot: int, offset: int) -> None:
        """The word at byte `at` points `offset` bytes into the region of `slot`."""

class OsError(RuntimeError):
    pass

NO_SLOT: int = 4294967295

MAX_IMAGES: int = 8

def thread_offset(image: int) -> int: ...

def identity_view(image: int) -> int:
    """Address of the words through which LLVM reads outside every scope."""

class ParseError(ValueError):
    pass

class NativeScopeError(RuntimeError):
    pass

class Patch:
    """Storage of one region in a setting."""

    @property
    def slot(self) -> int: ...

    @property
    def address(self) -> int: ...

class Setting:
    """Storage that gives options their values."""

    def __len__(self) -> int: ...

    @property
    def patches(self) -> list[Patch]: ...

    def is_same(self, arg: Setting, /) -> bool: ...

class Reader:
    """The instructions of one function that refer to one region in one way."""

    def __init__(self, slot: int, offset: int, takes_address: bool, reads: bool) -> None: ...

class Space:
    """The regions of one image and what was registered for each."""

    @staticmethod
    def redirected(image: int, regions: Sequence[Region], set_default: Sequence[int], add_occurrence: int, reporting: tuple[int, int, int], readers: Sequence[Reader]) -> Space:
        """
        A space of an image whose reads go through views. It lives as long as the process: threads inside contexts and LLVM itself may hold addresses. `reporting`: slots of what LLVM reports through.
        """

    @staticmethod
    def in_place(image: int, regions: Sequence[Region], set_default: Sequence[int], add_occurrence: int, reporting: tuple[int, int, int], vtable_size: int, write_index: int) -> Space:
        """
        A space of an image that is left as it is. `reporting`: addresses of what LLVM reports through; of the stream also the bytes of its vtable and the index of write_impl.
        """

    def default_address(self, slot: int) -> int: ...

    @property
    def copied_bytes(self) -> int: ...

    def scope_debugging(self, flag: int, location: int, types: int, debug_only: int, flag_slot: int, types_slot: int) -> None:
        """
        Debug output for those threads only that are inside a context with `debug`. Addresses, and slots; before anything is redirected.
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
        """Marks in `outer`, too, what is not in the slots."""

class Context:
    """A full set of option values."""

    @staticmethod
    def make(space: Space, base: Setting, overrides: Sequence[Setting], process_wide: ProcessWide | None = None, reads: Reads | None = None) -> Context:
        """
        Registered values, then `base`, then `overrides`; `process_wide` for everybody while it is entered.
        """

    @property
    def changed(self) -> list[int]:
        """Slots whose regions are not as they were registered."""

    @property
    def overridden(self) -> list[int]:
        """Slots of the overrides."""

    def text(self, slot: int) -> bytes:
        """
        What LLVM was given for the value, the same for the same occurrences; empty if not known.
        """

    @property
    def process_wide_key(self) -> str:
        """
        The same for the same changes to the whole process, and for no others; empty for none.
        """

    @property
    def reads(self) -> Reads:
        """Where readers are marked, or None."""

    def take_reads(self) -> list[int] | None:
        """
        With no thread inside: indexes of the readers that read since the last time; otherwise None.
        """

    def address(self, slot: int) -> int: ...

class GateError(RuntimeError):
    pass

class Change:
    """One option changed in LLVM's own object, and how that is undone."""

    def __init__(self, option: int, name: str, texts: Sequence[str | None], kind: Kind, value_offset: int, variable: tuple[int, int], state: tuple[int, int], debug_types: int) -> None:
        """
        `variable` and `state` are (address, size in bytes), (0, 0) where there is none; `debug_types`: address of llvm::CurrentDebugType, or 0.
        """

class ProcessWide:
    """A set of changes to LLVM's own options."""

    @staticmethod
    def make(space: Space, changes: Sequence[Change], key: str, set_debug_types: int) -> ProcessWide: ...

def read_scalar(kind: Kind, address: int) -> bool | int | int | float | str: ...

def read_list(element: Kind, element_size: int, address: int) -> list[bool | int | int | float | str]: ...

def read_set(address: int) -> list[bool | int | int | float | str]: ...

def use_task_variable(variable: object) -> None:
    """The ContextVar in which tasks keep the mark of their innermost scope."""

def leave_all() -> None:
    """
    Leaves whatever this thread is inside of, recordings included; the task has to be told.
    """

def set_scope_helpers(attach: object, check_in_line: object, cannot_enter: object, cannot_leave: object, judge: object) -> None:
    """
    What entering and leaving call before they change anything, or when they are done: attach(), check_in_line(context, verb), cannot_enter(context, class, text) and cannot_leave(context, text), which return exceptions, judge(context, failed).
    """

R = TypeVar("R")

def inside(manager: contextlib.AbstractContextManager[object], function: Callable[..., R], /, *arguments: object) -> R:
    """
    `with manager: return function(*arguments)`, with no instruction of the interpreter between the two.
    """

def inside_if_free(lock: object, function: Callable[[], R], /) -> R | None:
    """
    The same with a lock, or None, and nothing is called, if that is not free.
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
    """Whether LLVM sees on this thread what the running task is inside of."""

def innermost() -> object:
    """(mark, token) of the innermost scope entered on this thread, or None."""

def begin_library_call() -> None:
    """
    LLVM sees what the running task is inside of until `end_library_call`; never raises.
    """

def end_library_call() -> None: ...

def begin_compilation() -> None:
    """
    The same, for calls without llvmlite's lock; waits while options are changed process-wide, and counts this thread among those inside LLVM.
    """

def end_compilation() -> None: ...

def watch_context_switches() -> bool:
    """
    From now on threads follow their tasks. False where the interpreter does not report switches (before 3.14).
    """

def simulate_context_switches(on: bool) -> None:
    """
    For tests: what is done after `watch_context_switches`, with `context_switched` called by hand.
    """

def context_switched() -> None: ...

def take_turns() -> None:
    """
    From now on threads share LLVM's own storage; before the first scope, and for good.
    """

def process_ends() -> None:
    """From now on threads that end stay inside their scopes."""

def active_scopes() -> int: ...

class Seen:
    """Accesses of one instruction to one region, past the view."""

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

class OnMismatch(enum.Enum):
    switch_over = 0

    warn = 1

    error = 2

def pack_entry(subject: Subject, argument: int, skip: Skip) -> int:
    """What a thunk passes on to `interceptors()[0]`."""

def interceptors() -> tuple[int, int, int]:
    """
    Addresses of (what runs before an intercepted function, what runs after it), and the answer that skips it.
    """

def configure_bindings(image: int, calls: Sequence[int]) -> None:
    """
    `calls`: LLVMGetModuleContext, -FirstFunction, -NextFunction, -GlobalParent, -StringAttributeAtIndex, -StringAttributeValue, LLVMGetTarget, LLVMGetTargetMachineTriple, by address.
    """

def set_judges(may_run: object, resolve: object, cannot_enter: object, tell: object) -> None:
    """
    What decides: (owner of a binding, that of the scope or None, whether a mismatch is an error) -> bool, and (text of an attribute, owner of the scope or None, how many other texts of the module came before, triple) -> context, False to ignore it or None to refuse it; and what is told of a context that could not be entered: (it, why). `tell` gets what they raise.
    """

def count_attributes(count: bool) -> None:
    """Whether the attribute "optctx" of functions counts, on every thread."""

MOST_ATTRIBUTES: int = 1024

def bind(llvm_context: int, context: Context, owner: object, on_mismatch: OnMismatch) -> bool:
    """False if the LLVMContext is bound already."""

def unbind(llvm_context: int) -> object:
    """The owner of the binding that this ends, or None."""

def bound(llvm_context: int) -> tuple[object, OnMismatch]:
    """(owner or None, what happens on a mismatch)"""

def bound_count() -> int: ...

class Binding:
    """What is bound to an LLVMContext, and how."""

def binding_of_module(module: int) -> Binding:
    """To be bound to other LLVMContexts as well, or None."""

def expecting_llvm_contexts(bindings: Sequence[Binding | None], function: Callable[..., R], /, *arguments: object) -> R:
    """
    Calls the function, and binds the LLVMContexts that llvmlite's LLJIT makes on this thread in it, in this order; None: not at all. What a call further out still expects is put back.
    """

class Lifetime:
    """
    An LLVMContext and its modules each hold the same one. When the last of them drops it, LLVM disposes of the LLVMContext if that was closed. The garbage collector does not track it, so it runs every finaliser before it drops this.
    """

    def __init__(self, llvm_context: int, dispose: int) -> None:
        """Both by address."""

    def close(self) -> None:
        """Allow LLVM to dispose of the LLVMContext."""

class PointerTransaction:
    """Pointers in virtual function tables."""

    def __init__(self, changes: Sequence[tuple[int, int, int]]) -> None:
        """(address of the pointer, its value, the value it gets)"""

    def commit(self) -> None: ...

    def undo(self) -> None: ...

    @property
    def committed(self) -> bool: ...

    def __len__(self) -> int: ...

def place_code(code: bytes, near_begin: int, near_end: int) -> int:
    """Address of executable memory that holds the code, for ever."""

class MachineUse(enum.Enum):
    work = 0

    begin = 1

    end = 2

    reset_options = 3

    layout = 4

    emit = 5

    lowering = 6

def pack_machine_use(use: MachineUse, argument: int) -> int:
    """What a thunk passes on to `machine_interceptor()`."""

def machine_interceptor() -> int:
    """
    Address of what runs before an intercepted function of a TargetMachine.
    """

def configure_machines(image: int, calls: Sequence[int]) -> None:
    """
    `calls`: addresses, in the order of native/machine/llvm.hpp. Raises RuntimeError, with nothing changed, if the image does not check out.
    """

def set_cannot_make_machine(tell: object) -> None:
    """
    On the thread that runs LLVM, `tell` is given the reason why there is no machine for the values in force.
    """

def idle_machines() -> int:
    """Machines that are kept for later runs."""

def forget_machines() -> None:
    """For tests: what `restore` does."""

def is_attached() -> bool:
    """Whether scopes reach LLVM now."""

def redirect(code: Transaction, tables: PointerTransaction, fail_at: int = 0) -> None:
    """Commits both, all or none; scopes reach LLVM then."""

def restore(code: Transaction, tables: PointerTransaction) -> tuple[int, int, int]:
    """
    Undoes `redirect`, all or none, if nothing uses it: (LLVMContexts that are bound, scopes that are entered, blocks that record), all 0 if it was undone.
    """

def set_attached() -> None:
    """Where no code has to be changed."""

def set_detached() -> tuple[int, int, int]:
    """The counts of `restore`."""

class Llvm:
    """Functions of llvmlite's library, by address."""

    def __init__(self, addresses: Mapping[str, int]) -> None: ...

def run_passes(llvm: Llvm, context: int, llvmlite_lock: object, module: int, machine: int, tuning: int, text: bytes) -> tuple[bytes | None, list[bytes]]:
    """
    (why the pipeline does not parse, errors). `llvmlite_lock`: llvmlite's, or None where the context is not the global one; `machine` and `tuning` may be 0.
    """

def emit(llvm: Llvm, context: int, llvmlite_lock: object, module: int, machine: int, as_object: bool) -> tuple[bytes | None, bytes, list[bytes]]:
    """(code, why there is none, errors)."""

def compile_alone(context: int, machine: int, llvmlite_lock: object, function: Callable[..., R], /, *arguments: object) -> R:
    """Calls the function as `run_passes` and `emit` call LLVM."""

def run_counted(function: Callable[..., R], /, *arguments: object) -> R:
    """
    Calls the function. What the task is inside of holds, and no thread changes options process-wide meanwhile.
    """

def held() -> dict[str, int]:
    """
    What this process holds at this moment (calls: this thread); for tests.
    """

def held_locks() -> int:
    """
    LLVMContexts and target machines that compilations have for themselves.
    """

def make_lock_safe(lock: object) -> None:
    """
    Gives llvmlite's lock native methods, which an exception at any moment cannot leave half done.
    """

class Place:
    """Where to read: in a context, and in LLVM's own storage."""

    def __init__(self, slot: int, offset: int, live: int) -> None: ...

class LookupTable:
    """Every option by name, for lookups from C++."""

    def __init__(self, image: int, library: str) -> None: ...

    def add(self, names: Sequence[str], type: str, kinds: tuple[Kind, Kind], sizes: tuple[int, int], value: Place, object: Place, choices: Sequence[tuple[str, int]]) -> None:
        """
        `kinds`: of the value, of its elements; `sizes`: bytes of a list's element, bytes of an enum; `choices`: (name, integer that is stored).
        """

    def publish(self) -> None:
        """From now on C++ finds these options; the table is empty afterwards."""

class UnwatchedError(RuntimeError):
    pass

class Recorder:
    """What LLVM reads on one thread, while its block is entered."""

    @staticmethod
    def make(space: Space) -> Recorder:
        """To be started by the block that has it."""

    def gather(self) -> None:
        """Takes over what recorders inside it have seen so far."""

    @property
    def complete(self) -> bool: ...

    @property
    def lost(self) -> bool:
        """Whether somebody else took the faults of the thread over."""

    @property
    def seen(self) -> list[tuple[Context, list[int]]]:
        """
        [(context, or None outside every scope, indexes of the readers that read)].
        """

class RecordingBase:
    def __enter__(self) -> Any: ...
    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        value: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None: ...

def active_recorders() -> int:
    """Blocks that record at this moment, over all threads."""

def prepare_recording(space: Space, instructions: Sequence[tuple[int, int, int]]) -> None:
    """
    `instructions`: (address, number of the base register, reader) behind the words of readers.
    """

def observe_occurrences(add_occurrence: int, begin: object, end: object) -> int:
    """
    The function that takes the place of LLVM's `add_occurrence` in tables of virtual functions. It calls begin(option), LLVM's, and end(option, value or None for a flag, whether LLVM refused it), on whatever thread; once in a process.
    """

def set_call_listeners(begins: object, ends: object) -> None:
    """
    What hears of llvmlite's calls while `listen_to_calls` says so; once in a process.
    """

def parses_under_way() -> int:
    """On this thread, of what `observe_occurrences` sees."""

class WatcherBase:
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        value: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None: ...

def add_watcher(watcher: object, tables: PointerTransaction) -> None:
    """
    The first one has `tables` committed, which lead to what `observe_occurrences` returned.
    """

def remove_watcher(watcher: object) -> bool:
    """Whether it was there; with the last one LLVM's tables are as before."""

def watchers() -> tuple[WatcherBase, ...]: ...

def report_unraisable(error: object, where: object) -> None:
    """Tells sys.unraisablehook of an exception."""

def native_stack() -> list[int]:
    """Addresses in the functions that this thread is in, innermost first."""

def symbol_near(address: int) -> tuple[str, str]:
    """(name of an exported symbol or '', path of the library or '')."""

class Spans:
    """Pieces of memory that are read together."""

    def __init__(self, spans: Sequence[tuple[int, int]]) -> None:
        """(address, size in bytes) each; they must stay readable."""

    def read(self) -> bytes: ...

class CoveredStorage:
    """
    LLVM's storage that optctx itself has changed at this moment, as it was before.
    """

    def __init__(self) -> None: ...

    def place(self, address: int) -> int:
        """
        Where to read what is at an address: in a copy, good as long as this object lives, or there.
        """

def process_wide_epoch() -> int:
    """
    Odd while changes of contexts with process_wide="exclusive" are in force; grows with each.
    """
