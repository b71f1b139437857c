"""Numba's engine and code libraries for one set of values: LLVM does all their work under these values."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from llvmlite import binding
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.core.compiler_lock import global_compiler_lock
from numba.core.runtime import rtsys
from numba.core.runtime.nrtdynmod import compile_nrt_functions

from optctx.errors import OptctxError
from optctx.numba.entries import Reads

if TYPE_CHECKING:
    from optctx.context.context import OptionContext

# A global of this name makes Numba refuse to cache a library that links one with other options, because its
# cache does not know these options.
FOREIGN = "numba.dynamic.globals.optctx"
_SMALL = "define void @nothing() { ret void }"
# Prefix of the variables that hold a function's environment.
_ENVIRONMENT = "_ZN08NumbaEnv"


class OptionsLibrary(JITCodeLibrary):  # type: ignore[misc]
    """A library whose modules are optimised, compiled, loaded and shown under the values of its codegen."""

    has_own_options = True

    def __init__(self, codegen: OptionsCodegen, name: str) -> None:
        self._foreign: Any = None
        self._before_emission: bytes | None = None
        self.reads = Reads()  # with those for the target machine, and for the libraries linked into this one
        self.reads.include(codegen.reads)
        with codegen.working(self.reads):
            super().__init__(codegen, name)

    def add_ir_module(self, ir_module: Any) -> None:
        with self._codegen.working(self.reads):
            super().add_ir_module(ir_module)

    def add_llvm_module(self, ll_module: Any) -> None:
        with self._codegen.working(self.reads):
            super().add_llvm_module(ll_module)

    def add_linking_library(self, library: Any) -> None:
        if library is rtsys.library:  # it has the options of the first compilation in this process
            library = self._codegen.runtime_library()
        elif not isinstance(library, OptionsLibrary):
            raise OptctxError(
                f"cannot link {library.name} into {self.name}, which has LLVM options of its own: Numba "
                "compiled it without them, for another engine; decorate it with optctx.numba"
            )
        super().add_linking_library(library)
        self.reads.include(library.reads)

    def finalize(self) -> None:
        with self._codegen.working(self.reads), self._codegen.linking():
            super().finalize()
        self._codegen.finalized += 1

    def get_pointer_to_function(self, name: str) -> int:
        with self._codegen.working(self.reads):
            return int(super().get_pointer_to_function(name))

    def _finalize_final_module(self) -> None:
        if not self._disable_inspection:  # a library that was loaded from a cache has no module
            self._before_emission = self._final_module.as_bitcode()
        super()._finalize_final_module()

    def get_asm_str(self) -> str:
        """The code that runs. Emission changes a module, so Numba could emit other code the second time."""
        if self._before_emission is None:
            return str(super().get_asm_str())
        with self._codegen.values:
            module = binding.parse_bitcode(self._before_emission)
            return str(self._codegen._tm.emit_assembly(module))

    def serialize_using_object_code(self) -> Any:
        with self._codegen.linking():
            return super().serialize_using_object_code()

    @classmethod
    def _unserialize(cls, codegen: OptionsCodegen, state: Any) -> Any:
        with codegen.values:
            return super()._unserialize(codegen, state)

    def _get_module_for_linking(self) -> Any:
        module = super()._get_module_for_linking()
        if self._codegen.is_linking:
            return module
        if self._foreign is None:
            self._foreign = self._for_another_engine(module)
        return self._foreign

    def _for_another_engine(self, module: Any) -> Any:
        """A copy of the module that another engine can link.

        Numba sets environments only in the engine that it compiles for. In the copy they are external
        symbols, with the addresses that they have in this engine.
        """
        copy = module.clone()
        engine = self._codegen._engine
        for variable in copy.global_variables:
            if variable.name.startswith(_ENVIRONMENT) and not variable.is_declaration:
                address = engine.get_global_value_address(variable.name)
                if not address:
                    raise OptctxError(
                        f"cannot link {self.name} into a function with other LLVM options: its engine has no "
                        f"{variable.name}; give both functions the same options"
                    )
                binding.add_symbol(variable.name, address)
                variable.linkage = "available_externally"
        mark = binding.parse_assembly(f'@"{FOREIGN}" = weak_odr constant i8 0')
        mark.data_layout, mark.triple = copy.data_layout, copy.triple
        copy.link_in(mark)
        return copy


class OptionsCodegen(JITCPUCodegen):  # type: ignore[misc]
    """An engine for one set of values, with a target machine made under them.

    `values`: a context that can be entered any number of times. `context`: Numba's target context, with which
    its runtime functions are made.
    """

    _library_class = OptionsLibrary

    def __init__(self, module_name: str, values: OptionContext, context: Any) -> None:
        self.values = values
        self._context = context
        self.records = True  # the reads of the target machine count for all code compiled with it
        self.reads = Reads()
        self._compiling: tuple[int, Reads] | None = None  # the thread that compiles
        self.finalized = 0  # the number of libraries that were compiled, not loaded
        self._runtime: OptionsLibrary | None = None
        self.is_linking = False  # whether a library of this engine asks for modules; under the compiler lock
        with self.working(self.reads):
            super().__init__(module_name)
            self._use_machine()
        self.records = False

    def _use_machine(self) -> None:
        """Make LLVM do now, while reads are recorded, what it does once for a target machine."""
        module = binding.parse_assembly(_SMALL)
        module.triple, module.data_layout = self._llvm_module.triple, self._data_layout
        self._tm.emit_assembly(module)

    @contextmanager
    def working(self, reads: Reads) -> Iterator[None]:
        """A block in which LLVM works under these values. Its reads count in `reads`."""
        with self.values:
            if self._compiling is not None and self._compiling[0] == threading.get_ident():
                reads.include(self._compiling[1])
                yield
            elif self.records:
                with reads.recorded():
                    yield
            else:
                reads.lose()
                yield

    @contextmanager
    def compiling(self) -> Iterator[None]:
        """A block in which Numba compiles. Its reads count for every library that is compiled in it.

        A recording for each library would take longer, because the first read of an option in each recording
        costs most.
        """
        if not self.records:
            yield
            return
        reads = Reads()
        with reads.recorded():
            self._compiling = threading.get_ident(), reads
            try:
                yield
            finally:
                self._compiling = None

    @contextmanager
    def linking(self) -> Iterator[None]:
        """A block in which libraries of this engine link each other."""
        with global_compiler_lock:
            outer, self.is_linking = self.is_linking, True
            try:
                yield
            finally:
                self.is_linking = outer

    def runtime_library(self) -> OptionsLibrary:
        """Numba's runtime functions, compiled under these values. Needs Numba's compiler lock.

        Those that were made unrecorded are made again where reads count: they would have read every option.
        """
        if self._runtime is None or (self.records and self._runtime.reads.names() is None):
            self._runtime = compile_nrt_functions(self._context)
        return self._runtime
