"""Options of the whole process: under a lock that equal sets share, or parsed once by the first user."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence

from evidence.strategies.arguments import reset_process_options, split
from evidence.strategies.strategy import Strategy
from optctx.compiling import Job, Result
from optctx.hosts.llvmlite import llvmlite_image
from optctx.image.facts.mangled_names import ADD_OCCURRENCE, RESET_OPTION
from optctx.image.registry_reader import read_registry
from optctx.locks import lock_left_behind
from optctx.process import set_process_options


class _WaitingStrategy(Strategy):
    """Guards what it knows of its users by a condition, which it tells of every change."""

    def __init__(self) -> None:
        super().__init__()
        self._changed = threading.Condition(lock_left_behind())

    def _wait_while(self, is_taken: Callable[[], bool]) -> None:
        """Call with the condition's lock held."""
        while is_taken():
            self.when_waiting()
            self._changed.wait()

    def _wake(self) -> None:
        """Call with the condition's lock held."""
        self.when_waking()
        self._changed.notify_all()


class XlaStrategy(_WaitingStrategy):
    """Wait until every other user is done, or has the same options; then reset all options and parse.

    Users with the options that were parsed last skip the parser, also if the others are long gone. Leaving
    puts nothing back: the options stay until the next user has others. A bad option ends the process, since
    LLVM's parser is called without a stream for errors.
    """

    name = "exclusive"
    source = "XLA, xla/service/llvm_ir/llvm_command_line_options.cc (LLVMCommandLineOptionsLock)"

    def __init__(self) -> None:
        super().__init__()
        self._active: tuple[str, ...] | None = None  # what was parsed last
        self._users = 0

    def _enter(self, inside: tuple[str, ...], own: tuple[str, ...]) -> None:
        with self._changed:
            self._wait_while(lambda: bool(self._users) and self._active != inside)
            if self._active != inside:
                _parse(inside)
                self._active = inside
            self._users += 1

    def _leave(self, kept: None) -> None:
        with self._changed:
            self._users -= 1
            self._wake()


def _parse(options: Sequence[str]) -> None:
    reset_process_options()
    set_process_options(options)


class TritonStrategy(_WaitingStrategy):
    """Equal sets share the registry; another set waits, and none joins the present one while it does.

    The first user of a set gives each option one occurrence, the last one resets these options, to the
    registered defaults and not to what they were before. Options that LLVM does not have are ignored, and so
    are bad values, of which LLVM prints a line. A tool that rewrites the registry (LLD) has it alone: inside
    a scope of its own thread it waits for ever.
    """

    name = "exclusive-triton"
    source = "Triton, lib/Tools/LLVMOptions.cpp (ScopedLLVMOptions, ExclusiveLLVMOptionAccess)"

    def __init__(self) -> None:
        super().__init__()
        self._options: dict[str, int] = {}  # name -> address
        self._active: dict[str, str] = {}
        self._applied: list[int] = []
        self._users = 0
        self._switches = 0  # scopes that wait to replace the set
        self._tools = 0  # tools that wait
        self._tool = False  # one has the registry

    def __enter__(self) -> TritonStrategy:
        options = read_registry(llvmlite_image()).options
        self._options = {name: option.address for option in options for name in option.names}
        return self

    def _enter(self, inside: tuple[str, ...], own: tuple[str, ...]) -> None:
        wanted = {name: text or "" for name, text in map(split, inside)}
        with self._changed:
            self._wait_until_it_may_enter(wanted)
            if not self._users:
                self._apply(wanted)
            self._users += 1

    def _wait_until_it_may_enter(self, wanted: dict[str, str]) -> None:
        switching = False
        while not self._may_enter(wanted, switching):
            if not switching and not (self._tool or self._tools) and self._active != wanted:
                switching = True
                self._switches += 1
            self.when_waiting()
            self._changed.wait()
        self._switches -= switching

    def _may_enter(self, wanted: dict[str, str], switching: bool) -> bool:
        if self._tool or self._tools:
            return False
        if not self._users:
            return True
        return self._active == wanted and (switching or not self._switches)

    def _leave(self, kept: None) -> None:
        with self._changed:
            self._users -= 1
            if not self._users:
                self._restore()
            self._wake()

    def _apply(self, wanted: dict[str, str]) -> None:
        for name, text in wanted.items():
            option = self._options.get(name)
            if option is None:
                continue
            _reset_option(option)  # passes that ask for the occurrences see one
            if _add_occurrence(option, name, text):
                self._applied.append(option)
            else:
                _reset_option(option)
        self._active = wanted

    def _restore(self) -> None:
        for option in self._applied:
            _reset_option(option)
        self._applied.clear()
        self._active = {}

    def run_tool(self, job: Job) -> Result:
        with self._changed:
            self._tools += 1
            self._wait_while(lambda: self._tool or bool(self._users))
            self._tools -= 1
            self._tool = True
        try:
            return super().run_tool(job)
        finally:
            with self._changed:
                self._tool = False
                self._wake()


class OnceStrategy(Strategy):
    """LLVM parses the options of the first scope, as it is initialised. All later ones are ignored.

    A first scope without options counts as well. A bad option ends the process.
    """

    name = "once"
    source = "Halide, src/CodeGen_LLVM.cpp (CodeGen_LLVM::initialize_llvm, HL_LLVM_ARGS)"

    def __init__(self) -> None:
        super().__init__()
        self._lock = lock_left_behind()
        self._parsed = False

    def _enter(self, inside: tuple[str, ...], own: tuple[str, ...]) -> None:
        with self._lock:
            if not self._parsed:
                set_process_options(inside)
                self._parsed = True


def _add_occurrence(option: int, name: str, value: str) -> bool:
    """Give one option of this process a value, as code does that uses LLVM's registry itself.

    `option`: address of the `cl::Option`. Returns whether LLVM took the value; otherwise it has printed why.
    """
    function = llvmlite_image().findings.need(ADD_OCCURRENCE).address
    text = (ctypes.c_char_p, ctypes.c_size_t)  # a StringRef takes two registers
    form = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_uint, *text, *text, ctypes.c_bool)
    words = name.encode(), value.encode()
    return not form(function)(option, 0, words[0], len(words[0]), words[1], len(words[1]), False)


def _reset_option(option: int) -> None:
    """Give one option of this process its default, as if it had never been given. `option`: its address."""
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(llvmlite_image().findings.need(RESET_OPTION).address)(option)
