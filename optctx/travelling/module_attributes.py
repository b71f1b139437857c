"""Attributes of the functions that a module defines, and its flags that hold a number."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from ctypes import POINTER, byref, c_char_p, c_size_t, c_uint, c_ulonglong, c_void_p
from typing import NamedTuple, TypeAlias

from optctx.image.facts.mangled_names import ATTRIBUTES
from optctx.image.loaded import Image
from optctx.travelling.module_metadata import Write, on_module, typed_functions, write_together

_FUNCTION = 0xFFFFFFFF  # LLVMAttributeFunctionIndex
_ERROR = 0  # LLVMModuleFlagBehaviorError: LLVM refuses to link modules that differ


class FunctionAttribute(NamedTuple):
    """An attribute for every function that the module defines."""

    name: str
    value: str | None  # None: an attribute that LLVM has a number for, such as noinline
    replace: bool = False  # the attribute of functions that have it already


class ModuleFlag(NamedTuple):
    """A flag for the module, unless it has it already."""

    key: str
    value: int  # 32 bits, unsigned


Change: TypeAlias = FunctionAttribute | ModuleFlag


class _Api:
    """Typed functions of an LLVM; pointers are plain integers."""

    def __init__(self, image: Image) -> None:
        function = typed_functions(image, ATTRIBUTES, "read or write attributes of functions")
        self.llvm_context = function("LLVMGetModuleContext", c_void_p, c_void_p)
        self.triple = function("LLVMGetTarget", c_char_p, c_void_p)
        self.first = function("LLVMGetFirstFunction", c_void_p, c_void_p)
        self.next = function("LLVMGetNextFunction", c_void_p, c_void_p)
        self.is_declaration = function("LLVMIsDeclaration", ctypes.c_int, c_void_p)

        # (function, index, name, length) -> attribute or NULL
        self.find = function("LLVMGetStringAttributeAtIndex", c_void_p, c_void_p, c_uint, c_char_p, c_uint)
        self.text = function("LLVMGetStringAttributeValue", c_void_p, c_void_p, POINTER(c_uint))
        self.kind = function("LLVMGetEnumAttributeKindForName", c_uint, c_char_p, c_size_t)
        # (LLVMContext, name, length, value, length) and (LLVMContext, kind, value) -> attribute
        self.make_text = function(
            "LLVMCreateStringAttribute", c_void_p, c_void_p, c_char_p, c_uint, c_char_p, c_uint
        )
        self.make_enum = function("LLVMCreateEnumAttribute", c_void_p, c_void_p, c_uint, c_ulonglong)
        self.add = function("LLVMAddAttributeAtIndex", None, c_void_p, c_uint, c_void_p)

        self.find_flag = function("LLVMGetModuleFlag", c_void_p, c_void_p, c_char_p, c_size_t)
        # (module, behaviour, key, length, metadata)
        self.add_flag = function("LLVMAddModuleFlag", None, c_void_p, c_uint, c_char_p, c_size_t, c_void_p)
        self.int32 = function("LLVMInt32TypeInContext", c_void_p, c_void_p)
        self.constant = function("LLVMConstInt", c_void_p, c_void_p, c_ulonglong, ctypes.c_int)
        self.as_metadata = function("LLVMValueAsMetadata", c_void_p, c_void_p)

    def defined(self, module: int) -> Iterator[int]:
        """Yield the functions that the module defines."""
        function = self.first(module)
        while function:
            if not self.is_declaration(function):
                yield function
            function = self.next(function)

    def attribute(self, function: int, name: bytes) -> bytes | None:
        """Return the value of a function's attribute; None if it has none of this name."""
        found = self.find(function, _FUNCTION, name, len(name))
        if not found:
            return None
        length = c_uint()
        return ctypes.string_at(self.text(found, byref(length)), length.value)


_on_module = on_module(_Api)  # raises UnsupportedImageError if the library lacks a function


@_on_module
def triple_of(api: _Api, module: int) -> str:
    """Return the triple of a module. What is not UTF-8 is replaced."""
    text: bytes = api.triple(module)
    return text.decode(errors="replace")


@_on_module
def read_attributes(api: _Api, module: int, name: str) -> set[bytes]:
    """Return the different values that an attribute has on the functions that the module defines."""
    found = {api.attribute(function, name.encode()) for function in api.defined(module)}
    return {value for value in found if value is not None}


@_on_module
def apply_changes(api: _Api, module: int, changes: Sequence[Change]) -> None:
    """Write attributes and flags into a module, all or, after an exception, none.

    LLVM has to know the attributes without a value.
    """
    context = api.llvm_context(module)
    writes: list[Write] = []
    for change in changes:
        if isinstance(change, ModuleFlag):
            writes += _flag(api, module, context, change)
        else:
            writes += _attributes(api, module, context, change)
    write_together(writes)


def _attributes(api: _Api, module: int, context: int, change: FunctionAttribute) -> Iterator[Write]:
    name = change.name.encode()
    made = _made(api, context, change)
    for function in api.defined(module):
        if change.replace or change.value is None or api.attribute(function, name) is None:
            yield api.add, (function, _FUNCTION, made)


def _made(api: _Api, context: int, change: FunctionAttribute) -> int:
    """Make an attribute. LLVM keeps it with the LLVMContext."""
    name = change.name.encode()
    if change.value is None:
        return int(api.make_enum(context, api.kind(name, len(name)), 0))
    value = change.value.encode()
    return int(api.make_text(context, name, len(name), value, len(value)))


def _flag(api: _Api, module: int, context: int, flag: ModuleFlag) -> Iterator[Write]:
    key = flag.key.encode()
    if not api.find_flag(module, key, len(key)):
        number = api.as_metadata(api.constant(api.int32(context), flag.value, 0))
        yield api.add_flag, (module, _ERROR, key, len(key), number)
