"""`LLVMTarget`: a target whose options are in force where it is entered."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from optctx import OptionContext, emit_assembly, emit_object, run_passes
from optctx.errors import OptctxError, TargetError, shown
from optctx.travelling import module_called, read_module_flag, write_module_flag
from optctx.tvm.instance import LLVMInstance
from optctx.tvm.jit import LoadedObject, defined_functions, load_object, undefined_functions
from optctx.tvm.machine import back_end, names_architecture, process_triple
from optctx.tvm.options import (
    Base,
    UnknownMode,
    UnreadMode,
    check_unknown,
    last_texts,
    read_options,
)
from optctx.tvm.target import Target, TargetLike
from optctx.tvm.target_info import LLVMTargetInfo

if TYPE_CHECKING:
    from llvmlite.binding import ModuleRef
    from llvmlite.binding.context import ContextRef

_FLAG = "tvm_target"  # of a module: !{i32 2, !"tvm_target", !"{\\22kind\\22: \\22llvm\\22, ...}"}
_TARGETS = ("{", "llvm")  # prefixes of the texts that TVM writes


class LLVMTarget(LLVMTargetInfo, OptionContext):
    """A target, and a context of its LLVM options: `with LLVMTarget(instance, "llvm ...") as target:`.

    An OptionContext in every other respect. Inside, the options of the target are in force for this thread;
    the end of the block restores the earlier values. Targets nest, with any options, and threads can be
    inside different targets at once. Two targets are equal, as contexts are, if their option values are.
    `optimize`, `emit_object`, `emit_assembly` and `load` compile under the options of the target, inside its
    block or not. Pickled, it becomes a plain OptionContext.

    Args:
        instance: The entry point to LLVM.
        target: One line, JSON as text or as a mapping, a Target or an LLVMTargetInfo.
        base, unread: As for `OptionContext`.
        unknown: As for `LLVMTargetInfo`.

    Raises:
        What `LLVMTargetInfo` raises. Nothing was changed.
    """

    def __init__(
        self,
        instance: LLVMInstance,
        target: TargetLike | LLVMTargetInfo,
        *,
        base: Base = "inherit",
        unread: UnreadMode = "ignore",
        unknown: UnknownMode = "error",
    ) -> None:
        described = Target(str(target) if isinstance(target, LLVMTargetInfo) else target)
        check_unknown(unknown)
        options = read_options(described, unknown)
        texts = last_texts(options)
        OptionContext.__init__(self, texts, base=base, unread=unread)
        self._options = options
        self._describe(instance, described, unknown)

    @classmethod
    def _of(cls, *arguments: Any, **keywords: Any) -> OptionContext:
        """Make a plain context: a context derived from a target is not a target."""
        return OptionContext._of(*arguments, **keywords)

    def __reduce__(self) -> tuple[Any, ...]:
        restore, (*made_of, _), _ = super().__reduce__()
        return restore, tuple(made_of)

    def __copy__(self) -> OptionContext:
        return self  # it never changes, as a context does not

    def __deepcopy__(self, memo: dict[int, object]) -> OptionContext:
        return self

    @property
    def instance(self) -> LLVMInstance:
        """The entry point to LLVM that the target was made with."""
        return self._instance

    @property
    def llvm_context(self) -> ContextRef:
        """The LLVMContext of the instance. Raises ScopeError if the instance is closed."""
        return self._instance.llvm_context

    @staticmethod
    def get_target_metadata(module: ModuleRef, *, trust: Iterable[str] = ("tuning",)) -> str:
        """Read the target that a module carries. Without one, the result has only the triple of the module.

        Args:
            module: A module of llvmlite's.
            trust: What the target may set, as for `OptionContext.from_module`: the module may come from an
                untrusted source.

        Raises:
            TargetError: The module flag "tvm_target" cannot be read, or is not a target.
            UntrustedOptionError: The target sets an option that is not trusted.
            OptionTypeError, UnknownOptionError, OptionValueError: As for `from_target`.
            TypeError, OptctxError: `module` is not a module, or closed.
        """
        whose = f"the target of {module_called(module)}"
        try:
            text = read_module_flag(module, _FLAG) or ""
        except OptctxError as error:
            raise TargetError(str(error)) from None
        if not text.startswith(_TARGETS):
            triple = module.triple if names_architecture(module.triple) else ""
            return json.dumps({"kind": "llvm", "mtriple": triple})
        try:
            target = Target(text)
        except TargetError as error:
            raise TargetError(f"cannot read {whose}: {error}") from None
        read_options(target, "skip", trust=trust, whose=whose)
        return text

    def set_target_metadata(self, module: ModuleRef) -> None:
        """Write the target into a module, as the module flag "tvm_target", in place of an earlier one.

        Bitcode, text and passes preserve it. If modules with different targets are linked, LLVM's linker
        warns and keeps the first target.
        """
        write_module_flag(module, _FLAG, str(self))

    def optimize(self, module: ModuleRef) -> None:
        """Run LLVM's pipeline for the level of the target ("default<O3>") on a module, in place.

        The module gets the triple and the data layout of the target. Raises TargetError for a module of
        another architecture, and as `optctx.run_passes` does.
        """
        module_called(module)  # raises if it is not an open module
        machine = self._machine
        self._adopt(module)
        self.run(run_passes, module, f"default<O{self.opt_level}>", target_machine=machine)

    def emit_object(self, module: ModuleRef) -> bytes:
        """Emit an object file. The module stays as it is.

        Raises as `optimize` and `optctx.emit_object` do.
        """
        with _copy(module) as copy:
            self._adopt(copy)
            return self.run(emit_object, copy, self._machine)

    def emit_assembly(self, module: ModuleRef) -> str:
        """Emit assembly text. Otherwise the same as `emit_object`."""
        with _copy(module) as copy:
            self._adopt(copy)
            return self.run(emit_assembly, copy, self._machine)

    def load(self, module: ModuleRef) -> LoadedObject:  # type: ignore[override]  # a target is in no file
        """Compile a module and load it into this process, with the JIT engine of the target.

        The result maps the names of the functions that the module defines to their addresses. Raises as
        `emit_object` does, and TargetError if the target is not of this machine's architecture.
        """
        own = back_end(process_triple())
        if back_end(self.target_triple).name != own.name:
            raise TargetError(
                f"cannot run code for {self.target_triple} in this process, which is of {own.name}; leave "
                "mtriple out of the target"
            )
        module_called(module)
        if missing := undefined_functions(module):
            raise TargetError(
                f"cannot load the module: this process has no function {', '.join(map(repr, missing))}; "
                "load the library that defines it first: llvmlite.binding.load_library_permanently(path)"
            )
        code = self.emit_object(module)
        return load_object(self.jit_engine, code, defined_functions(module), self._make_machine())

    def _adopt(self, module: ModuleRef) -> None:
        """Give a module the triple and the data layout of the target."""
        name = back_end(self.target_triple).name
        if names_architecture(module.triple) and back_end(module.triple).name != name:
            raise TargetError(
                f"cannot compile a module for {shown(module.triple)} with a target for "
                f"{shown(self.target_triple)}; give the target that mtriple"
            )
        module.triple = self.target_triple
        module.data_layout = str(self._machine.target_data)


def _copy(module: ModuleRef) -> ModuleRef:
    """Clone a module. Raises TypeError if it is not one, and OptctxError if it is closed."""
    module_called(module)
    return module.clone()
