"""Compiled code in this process, through the JIT engine that a target names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from optctx.errors import OptctxError, TargetError

if TYPE_CHECKING:
    from llvmlite.binding import ModuleRef, TargetMachine

_NAME = "object"
# LLVM's linkages of functions that other objects do not see, or that are not in the object.
_HIDDEN = ("available_externally", "internal", "private", "linker_private", "linker_private_weak")


class LoadedObject(Mapping[str, int]):
    """The addresses of the functions of a compiled module, by name. They are valid as long as it exists."""

    def __init__(self, addresses: Mapping[str, int], engine: object) -> None:
        self._addresses = dict(addresses)
        self._engine = engine

    def __getitem__(self, name: str) -> int:
        return self._addresses[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._addresses)

    def __len__(self) -> int:
        return len(self._addresses)


def defined_functions(module: ModuleRef) -> list[str]:
    """The functions of a module that its object file exports."""
    functions = (each for each in module.functions if not each.is_declaration)
    return [each.name for each in functions if each.linkage.name not in _HIDDEN]


def undefined_functions(module: ModuleRef) -> list[str]:
    """The functions that a module calls and that this process does not have."""
    from llvmlite import binding  # importing optctx works without llvmlite, here and below

    names = [each.name for each in module.functions if each.is_declaration]
    return [n for n in names if not n.startswith("llvm.") and binding.address_of_symbol(n) is None]


def load_object(engine: str, code: bytes, names: Sequence[str], machine: TargetMachine) -> LoadedObject:
    """Load an object file with "orcjit" or "mcjit". The engine takes over `machine`.

    Raises TargetError if the engine cannot be made, and OptctxError if it cannot link the object.
    """
    return (_load_with_mcjit if engine == "mcjit" else _load_with_orcjit)(code, names, machine)


def _load_with_orcjit(code: bytes, names: Sequence[str], machine: TargetMachine) -> LoadedObject:
    from llvmlite import binding

    try:
        jit = binding.create_lljit_compiler(machine)
    except RuntimeError as error:
        raise TargetError(f"cannot make the JIT engine orcjit: {error}") from None
    library = binding.JITLibraryBuilder().add_object_img(code).add_current_process()
    for name in names:
        library.export_symbol(name)
    try:
        tracker = library.link(jit, _NAME)
    except RuntimeError as error:
        raise OptctxError(f"cannot load the compiled module: {error}") from None
    return LoadedObject({name: tracker[name] for name in names}, (tracker, jit))


def _load_with_mcjit(code: bytes, names: Sequence[str], machine: TargetMachine) -> LoadedObject:
    from llvmlite import binding

    empty = binding.parse_assembly("", binding.create_context())
    empty.triple = machine.triple
    empty.data_layout = str(machine.target_data)
    try:
        engine = binding.create_mcjit_compiler(empty, machine)
    except RuntimeError as error:
        raise TargetError(f"cannot make the JIT engine mcjit: {error}") from None
    engine.add_object_file(binding.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return LoadedObject({name: engine.get_function_address(name) for name in names}, engine)
