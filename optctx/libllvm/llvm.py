"""A libLLVM, its modules and its target machines."""

from __future__ import annotations

import ctypes
import os
import re
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ctypes import byref, c_char_p, c_uint, c_void_p
from functools import partial
from typing import Any, Self

from optctx import _native
from optctx.engine.attach import attach, attached
from optctx.engine.engine import Engine
from optctx.errors import (
    ContextMismatchError,
    OptctxError,
    OptionValueError,
    PassPipelineError,
    ProcessWideOptionError,
    UnsupportedImageError,
    clipped,
    shown,
)
from optctx.image.abi import INTEGER_RANGES, type_name
from optctx.image.loaded import Image, loaded_image
from optctx.image.options import RegisteredOption
from optctx.libllvm.files import installed
from optctx.libllvm.functions import Handler, load
from optctx.locks import lock_left_behind
from optctx.pipelines import pipeline_text
from optctx.tasks.problems import raising_problems
from optctx.tasks.scopes import library_calls
from optctx.values.args import parse_args, process_args
from optctx.values.registry import find
from optctx.values.texts import Texts, check_occurrence, has_text

# As LLVM-C numbers them.
_SEVERITIES = ("error", "warning", "remark", "note")
_RELOCS = {"default": 0, "static": 1, "pic": 2, "dynamicnopic": 3}
_CODE_MODELS = {"default": 0, "jitdefault": 1, "tiny": 2, "small": 3, "kernel": 4, "medium": 5, "large": 6}
# Making a machine of the target sets the option, unless it has occurred (R600TargetMachine's constructor).
_SET_BY_TARGETS = {"r600": "amdgpu-function-calls"}
_OF_FUNCTION = (1 << 32) - 1  # the place of attributes
_RETURN_STATUS = 2  # what LLVM's verifier does about a broken module


_lock = lock_left_behind()  # loading takes long
_opened: dict[str, LibLLVM] = {}


def open(library: str | os.PathLike[str]) -> LibLLVM:
    """Load a libLLVM, by its path or by the version of one that is installed, such as "19" or "19.1".

    Its symbols stay local, and it stays loaded until the process ends. All its targets are initialised. Every
    call returns the same object for the same file.

    Raises:
        OptctxError: No such file, or one that is no LLVM with LLVM-C; or a version that none or several of
            the libraries have that `installed` lists.
    """
    path = path_of(library)
    with _lock:
        if path not in _opened:
            _opened[path] = LibLLVM(path)
        return _opened[path]


def path_of(library: str | os.PathLike[str]) -> str:
    """Find the file that `open` loads. Raises OptctxError as it does."""
    name = os.fspath(library)
    path = os.path.realpath(_installed_path(name) if re.fullmatch(r"\d[\d.]*", name) else name)
    if not os.path.isfile(path):
        raise OptctxError(
            f"cannot open {shown(name)} as an LLVM: no such file; `optctx.libllvm.installed()` lists files"
        )
    return path


def _installed_path(version: str) -> str:
    """Find the library of a version, among those that can be used if there are any."""
    known = installed()
    fitting = [each for each in known if f"{each.version}.".startswith(f"{version.rstrip('.')}.")]
    fitting = [each for each in fitting if not each.problem] or fitting
    if len(fitting) != 1:
        listed = ", ".join(f"{each.path} ({each.version})" for each in fitting or known) or "none"
        raise OptctxError(
            f"cannot open an LLVM {version}: expected one libLLVM of this version, found "
            f"{listed if fitting else f'none (installed: {listed})'}; give its path"
        )
    return fitting[0].path


class _Owned:
    """An object of LLVM's, freed by `close()`, at the end of a `with` block, or with this one."""

    def __init__(self, llvm: LibLLVM, address: int, free: Callable[[], None]) -> None:
        self.llvm = llvm
        self._address = address
        self._free = weakref.finalize(self, free)
        self._free.atexit = False  # threads may still use it

    @property
    def address(self) -> int:
        """Where the object is, for other functions of LLVM-C. Raises OptctxError if it is closed."""
        if not self._free.alive:
            raise OptctxError(f"cannot use a {type(self).__name__} that is closed; make another one")
        return self._address

    def close(self) -> None:
        """Free the object. Again does nothing."""
        self._free()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class TargetMachine(_Owned):
    """A target machine, from `LibLLVM.target_machine`. Use it on one thread at a time.

    It keeps values of options that LLVM read for it. Where optctx cannot give each scope a machine of its own
    (`optctx.info()`, "shared_machines"), using it under other options than it was made under is refused.
    """

    _values: bytes | None = None  # what tells apart those that it was made under; None outside scopes
    _entry = 0  # of a scope in which LLVM wrote to options while it made parts of the machine


class Module(_Owned):
    """A module in an LLVMContext of its own, from `LibLLVM.parse`. Use it on one thread at a time.

    `context_address`: where its LLVMContext is, for `OptionContext.bind`. `messages`: what LLVM has said of
    it besides errors, each as "warning: ...", "remark: ..." or "note: ...".
    """

    def __init__(
        self, llvm: LibLLVM, context: int, address: int, said: list[tuple[int, str]], free: Callable[[], None]
    ) -> None:
        super().__init__(llvm, address, free)
        self.context_address = context
        self.messages: list[str] = []
        self._said = said

    def __str__(self) -> str:
        """Print the module as LLVM does."""
        return self.llvm._taken(self.llvm._c.LLVMPrintModuleToString(self.address))

    @property
    def triple(self) -> str:
        """For which the module is; empty if it does not say."""
        return ctypes.string_at(self.llvm._c.LLVMGetTarget(self.address)).decode()

    def take_target(self, machine: TargetMachine) -> None:
        """Give the module the triple and the data layout of a machine, by which passes go."""
        c, machine_at = self.llvm._c, self.llvm._address(machine, TargetMachine)
        triple = self.llvm._taken(c.LLVMGetTargetMachineTriple(machine_at))
        c.LLVMSetTarget(self.address, triple.encode())
        layout = c.LLVMCreateTargetDataLayout(machine_at)
        c.LLVMSetModuleDataLayout(self.address, layout)
        c.LLVMDisposeTargetData(layout)

    def instruction_count(self) -> int:
        """Count the IR instructions, over all functions."""
        functions = self._each("Function", self.address)
        blocks = (block for function in functions for block in self._each("BasicBlock", function))
        return sum(1 for block in blocks for _ in self._each("Instruction", block))

    def optnone(self) -> list[bool]:
        """Say of each function with a body whether passes skip it."""
        c, name = self.llvm._c, b"optnone"
        kind = c.LLVMGetEnumAttributeKindForName(name, len(name))
        bodies = (each for each in self._each("Function", self.address) if not c.LLVMIsDeclaration(each))
        return [bool(c.LLVMGetEnumAttributeAtIndex(each, _OF_FUNCTION, kind)) for each in bodies]

    def _each(self, what: str, of: int) -> Iterator[int]:
        at = getattr(self.llvm._c, f"LLVMGetFirst{what}")(of)
        while at:
            yield at
            at = getattr(self.llvm._c, f"LLVMGetNext{what}")(at)

    def _check(self) -> None:
        """Take what LLVM has said since the last time. Raises OptctxError for an error."""
        said, self._said[:] = self._said[:], []
        self.messages += [f"{_SEVERITIES[severity]}: {words}" for severity, words in said if severity]
        if errors := [words for severity, words in said if not severity]:
            raise OptctxError(f"LLVM refuses the module: {'; '.join(errors)}")


class LibLLVM:
    """A libLLVM that `open` has loaded. `path` is its file, `version` what it says, such as "19.1.7"."""

    def __init__(self, path: str) -> None:
        try:
            self._c = load(path)
        except OSError as error:
            raise OptctxError(f"cannot open {path} as an LLVM: {clipped(str(error))}") from None
        except AttributeError as error:
            raise OptctxError(
                f"cannot open {path} as an LLVM: it does not export LLVM-C, of LLVM 16 or newer "
                f"({clipped(str(error))})"
            ) from None
        self.path = path
        numbers = c_uint(), c_uint(), c_uint()
        self._c.LLVMGetVersion(*map(byref, numbers))
        self.version = ".".join(str(each.value) for each in numbers)
        try:
            self._image: Image | None = loaded_image(path)
        except UnsupportedImageError:
            self._image = None  # LLVM-C works without

    def __repr__(self) -> str:
        return f"<LibLLVM {self.version}, {self.path}>"

    @property
    def image(self) -> Image:
        """This LLVM for the parameter `image` of every function of optctx's.

        Raises UnsupportedImageError as `loaded_image` does, for a library without symbols for instance.
        Everything but scopes and `set_option` works there.
        """
        return self._image or loaded_image(self.path)

    def parse(self, source: str | bytes) -> Module:
        """Make a module of IR as text or as bitcode, in an LLVMContext of its own.

        Raises OptctxError with LLVM's words for what it cannot read, and for what its verifier refuses.
        """
        c, data = self._c, source if isinstance(source, bytes) else _encoded("the IR", source)
        said: list[tuple[int, str]] = []
        handler, module, words = self._listener(said), c_void_p(), c_void_p()
        context = c.LLVMContextCreate()
        c.LLVMContextSetDiagnosticHandler(context, handler, None)
        buffer = c.LLVMCreateMemoryBufferWithMemoryRangeCopy(data, len(data), b"module")  # LLVM frees it
        with self._in_scope_of_task():
            failed = c.LLVMParseIRInContext(context, buffer, byref(module), byref(words))
        if failed:
            c.LLVMContextDispose(context)
            raise OptctxError(f"cannot read the module: LLVM says: {self._taken(words.value, ' ')}")
        module_at = module.value or 0
        made = Module(self, context, module_at, said, partial(_free_module, c, module_at, context, handler))
        broken = c.LLVMVerifyModule(module, _RETURN_STATUS, byref(words))
        verdict = self._taken(words.value, " ")
        if broken:
            made.close()
            raise OptctxError(f"cannot use the module: LLVM's verifier refuses it: {verdict}")
        made._check()
        return made

    def run_passes(self, module: Module, pipeline: str, target_machine: TargetMachine | None = None) -> None:
        """Run a pass pipeline, as for `opt -passes`, on a module, in place.

        Raises:
            PassPipelineError: The pipeline does not parse. The module is unchanged.
            OptctxError: A pass reports an error, or an object is closed or of another LLVM.
        """
        c, text = self._c, pipeline_text(pipeline)
        module_at = self._address(module, Module)
        machine_at = None if target_machine is None else self._address(target_machine, TargetMachine)
        options = c.LLVMCreatePassBuilderOptions()
        try:
            with self._in_scope_of_task():
                self._check_values(module_at, target_machine)
                error = c.LLVMRunPasses(module_at, text, machine_at, options)
                self._note_entry(target_machine)
        finally:
            c.LLVMDisposePassBuilderOptions(options)
        if error:
            words = c.LLVMGetErrorMessage(error)
            said = clipped(ctypes.string_at(words).decode(errors="replace"))
            c.LLVMDisposeErrorMessage(words)
            raise PassPipelineError(f"cannot run the pass pipeline {shown(pipeline)}: LLVM says: {said}")
        module._check()

    def emit_object(self, module: Module, machine: TargetMachine) -> bytes:
        """Emit a module as an object file. LLVM lowers the module in place, so emit last.

        Raises OptctxError if the target cannot emit it, the code has an error, or an object is closed or of
        another LLVM. LLVM's fatal errors terminate the process.
        """
        return self._emit(module, machine, as_object=True)

    def emit_assembly(self, module: Module, machine: TargetMachine) -> str:
        """Emit a module as assembly text. Otherwise the same as `emit_object`."""
        return self._emit(module, machine, as_object=False).decode(errors="backslashreplace")

    def target_machine(
        self,
        triple: str = "",
        cpu: str = "",
        features: str = "",
        opt_level: int = 2,
        reloc: str = "pic",
        code_model: str = "default",
    ) -> TargetMachine:
        """Make a target machine.

        Args:
            triple: By default that of the machine for which this LLVM was built.
            cpu: As for `llc -mcpu`. LLVM prints a warning for one that it does not know.
            features: As for `llc -mattr`, such as "+avx2".
            opt_level: 0 to 3.
            reloc: "pic", "static", "dynamicnopic" or "default".
            code_model: "default", "jitdefault", "tiny", "small", "kernel", "medium" or "large".

        Raises OptctxError for a triple that this LLVM has no target for, or another bad argument;
        ProcessWideOptionError for a target whose machines would change the values of every context.
        """
        c, target, words = self._c, c_void_p(), c_void_p()
        name = _encoded("the triple", triple) or self._taken(c.LLVMGetDefaultTargetTriple()).encode()
        texts = _encoded("the processor", cpu), _encoded("the features", features)
        level = _chosen("opt_level", opt_level, {level: level for level in range(4)})
        models = _chosen("reloc", reloc, _RELOCS), _chosen("code_model", code_model, _CODE_MODELS)
        if c.LLVMGetTargetFromTriple(name, byref(target), byref(words)):
            raise OptctxError(f"cannot make a target machine: LLVM says: {self._taken(words.value, ' ')}")
        with self._in_scope_of_task():
            engine = self._attached()
            if engine is not None:
                _check_set(engine, c.LLVMGetTargetName(target).decode(), triple)
            values = None if engine is None else _native.values_here(engine.index)[0]
            machine = c.LLVMCreateTargetMachine(target, name, *texts, level, *models)
            if not machine:
                raise OptctxError(f"cannot make a target machine for {shown(triple)}: LLVM has none")
            found = TargetMachine(self, machine, partial(c.LLVMDisposeTargetMachine, machine))
            found._values = values
            self._note_entry(found)
        return found

    def set_option(self, argument: str) -> None:
        """Set an option for the whole process, such as "-unroll-count=4"; inside a scope, until it ends.

        LLVM-C ignores mistakes, so each is looked for before.

        Raises:
            UnknownOptionError: No option of this LLVM has the name.
            OptionValueError: LLVM refuses the value, or what it makes of the value cannot be known.
            UnsupportedImageError: optctx cannot use this LLVM.
        """
        engine = attach(self.image)
        for name, texts in parse_args(engine, [argument], of_process=True).items():
            option = engine.resolve(find(engine, name))
            if option.slot is None:
                _check_unscoped(option, name, texts)
        words = [b"optctx", *(word.encode() for word in process_args(engine, [argument]))]
        with self._in_scope_of_task():
            self._c.LLVMParseCommandLineOptions(len(words), (c_char_p * len(words))(*words), b"")

    def this_machine(self) -> tuple[str, str]:
        """Name the processor that this process runs on, and its features, as `target_machine` takes them."""
        return self._taken(self._c.LLVMGetHostCPUName()), self._taken(self._c.LLVMGetHostCPUFeatures())

    def _emit(self, module: Module, machine: TargetMachine, as_object: bool) -> bytes:
        c, buffer, words = self._c, c_void_p(), c_void_p()
        module_at, machine_at = self._address(module, Module), self._address(machine, TargetMachine)
        with self._in_scope_of_task():
            self._check_values(module_at, machine)
            failed = c.LLVMTargetMachineEmitToMemoryBuffer(
                machine_at, module_at, int(as_object), byref(words), byref(buffer)
            )
            self._note_entry(machine)
            code = ctypes.string_at(c.LLVMGetBufferStart(buffer), c.LLVMGetBufferSize(buffer))
            c.LLVMDisposeMemoryBuffer(buffer)
        if failed:
            raise OptctxError(f"cannot emit the module: LLVM says: {self._taken(words.value, ' ')}")
        module._check()
        return code

    def _address(self, thing: _Owned, kind: type[_Owned]) -> int:
        """Find what is to be given to LLVM, which would crash on anything else."""
        if not isinstance(thing, kind):
            raise TypeError(f"expected a {kind.__name__} of optctx.libllvm, found {type(thing).__name__}")
        if thing.llvm is not self:
            raise OptctxError(f"cannot use a {kind.__name__} of {thing.llvm.path} with {self.path}")
        return thing.address

    def _listener(self, said: list[tuple[int, str]]) -> Any:
        """Make the function that LLVM calls with each diagnostic of an LLVMContext."""

        def hear(diagnostic: int, _: object) -> None:
            words = self._taken(self._c.LLVMGetDiagInfoDescription(diagnostic), " ")
            said.append((self._c.LLVMGetDiagInfoSeverity(diagnostic), words))

        return Handler(hear)

    def _taken(self, text: int | None, between: str = "") -> str:
        """Copy a text of LLVM's and dispose of it. `between`: put its words on one line, for a message."""
        copy = ctypes.string_at(text or b"").decode(errors="backslashreplace")
        self._c.LLVMDisposeMessage(text)
        return clipped(between.join(copy.split())) if between else copy

    def _attached(self) -> Engine | None:
        return None if self._image is None else attached(self._image)

    def _check_values(self, module: int, machine: TargetMachine | None) -> None:
        """Raise ContextMismatchError for a machine that LLVM would use with other values in it."""
        engine = self._attached()
        if machine is None or engine is None or engine.shares_machines:
            return
        subject = _native.Subject.module  # its LLVMContext may be bound to other options than the thread's
        here = _native.run_early(engine.index, module, subject, _values_here, engine.index)
        if here is not None and (here[0] != machine._values or machine._entry not in (0, here[1])):
            raise ContextMismatchError(
                "cannot use a TargetMachine under other options than it was made under, or in a later scope "
                "where LLVM sets options for its target: it keeps some of their values, and optctx cannot "
                "give this LLVM another one; make one inside this scope"
            )

    def _note_entry(self, machine: TargetMachine | None) -> None:
        """Tie a machine to this entry into a scope if LLVM has set options in it, which others do not see."""
        if machine is not None and (engine := self._attached()) is not None:
            entry, wrote = _native.entry_here(engine.index)
            machine._entry = entry if wrote else machine._entry

    @contextmanager
    def _in_scope_of_task(self) -> Iterator[None]:
        """Have LLVM see the scope of the running task, also where that came in a contextvars.Context.

        Raises at the end what LLVM's work leaves.
        """
        engine = self._attached()
        begin, end = (_nothing, _nothing) if engine is None or _native.in_line() else library_calls(engine)
        begin()
        try:
            with raising_problems():
                yield
        finally:
            end()


def _nothing() -> None:
    pass


def _free_module(c: ctypes.CDLL, module: int, context: int, _: object) -> None:
    """Free a module and its LLVMContext, which may call the handler until then."""
    c.LLVMDisposeModule(module)
    c.LLVMContextDispose(context)


def _values_here(index: int) -> tuple[bytes | None, int]:
    return _native.values_here(index)[0], _native.entry_here(index)[0]


def _encoded(what: str, text: str) -> bytes:
    if not isinstance(text, str):
        raise TypeError(f"{what} is a str, found {type(text).__name__}")
    if not has_text((text,)):
        raise OptctxError(f"{what} is UTF-8 without NUL, found {shown(text)}; take the other characters out")
    return text.encode()


def _chosen(what: str, value: Any, choices: dict[Any, int]) -> int:
    if value not in choices:
        raise OptctxError(
            f"expected {what} to be one of {', '.join(map(repr, choices))}, found {shown(value)}"
        )
    return choices[value]


def _check_set(engine: Engine, target: str, triple: str) -> None:
    """Refuse a machine whose making sets an option that no context has a value of its own of."""
    name = _SET_BY_TARGETS.get(target, "")
    option = engine.options.get(name)
    if option is not None and option.scope == "process":
        raise ProcessWideOptionError(
            f"cannot make a target machine for {shown(triple)}: making it sets {name!r}, for every thread "
            f"and context: {option.reason}; compile for this target in a process of its own (FreshProcess)",
            name,
            option.reason,
        )


def _check_unscoped(option: RegisteredOption, name: str, texts: Texts) -> None:
    """Raise OptionValueError for what LLVM may refuse of an option that no scope can hold."""
    kind = type_name(option.type.kind)
    for text in texts:
        check_occurrence(option, name, text)
        if kind in INTEGER_RANGES and text is not None and re.fullmatch("0|-?[1-9][0-9]{,20}", text):
            least, most = INTEGER_RANGES[kind]
            known = least <= int(text) <= most
        else:
            choices = option.stored_choices()[0] if option.choices is not None else ()
            known = text in ((None, "true", "false") if kind == "bool" else choices)
        if not known:
            given = shown(f"-{name}" if text is None else f"-{name}={text}")
            raise OptionValueError(
                f"cannot set {given}: contexts cannot hold this option, and optctx cannot tell whether LLVM "
                "would ignore this value; only flags, whole numbers and choices can be set"
            )
