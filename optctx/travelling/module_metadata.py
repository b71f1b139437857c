"""Named metadata of a module, as strings and tuples, through calls of LLVM's C API.

A library need not export these functions: its symbol table gives their addresses. The host's lock is held
around each use, so that threads that share an LLVMContext through the host do not meet in it. All that
changes a module is made first, and written in one native step: an exception that a signal handler raises
comes before it or after it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import POINTER, byref, c_char_p, c_size_t, c_uint, c_void_p
from functools import cache, wraps
from typing import Any, Concatenate, Final, ParamSpec, TypeAlias, TypeVar, Union

from optctx._native import call_all
from optctx.engine.host import host_of
from optctx.errors import UnsupportedImageError
from optctx.image.facts.mangled_names import METADATA
from optctx.image.loaded import Image

# An operand is text, null or another node; what is read may also hold OTHER.
Node: TypeAlias = tuple[Union[bytes, "Node", None], ...]
OTHER: Final = object()  # an operand that is none of these, or is nested too deep to be looked at

P = ParamSpec("P")
R = TypeVar("R")


class _Api:
    """Typed functions of an LLVM; pointers are plain integers."""

    def __init__(self, image: Image) -> None:
        def address(name: str) -> int:
            try:
                return image.findings.need(METADATA[name]).address
            except UnsupportedImageError as error:
                raise UnsupportedImageError(
                    f"cannot read or write metadata of modules: {error}; use a library that optctx supports, "
                    "with its symbol table"
                ) from error

        def function(name: str, result: type[Any] | None, *arguments: type[Any]) -> Callable[..., Any]:
            return ctypes.CFUNCTYPE(result, *arguments)(address(name))

        # (module, length out) -> text
        self.identifier = function("LLVMGetModuleIdentifier", c_void_p, c_void_p, POINTER(c_size_t))
        self.source_file = function("LLVMGetSourceFileName", c_void_p, c_void_p, POINTER(c_size_t))
        self.llvm_context = function("LLVMGetModuleContext", c_void_p, c_void_p)

        # (module, name, length) -> named node or NULL
        self.find = function("LLVMGetNamedMetadata", c_void_p, c_void_p, c_char_p, c_size_t)
        self.count_named = function("LLVMGetNamedMetadataNumOperands", c_uint, c_void_p, c_char_p)
        self.named = function("LLVMGetNamedMetadataOperands", None, c_void_p, c_char_p, c_void_p)
        self.clear = address("clear")  # (named node)
        self.append = address("LLVMAddNamedMetadataOperand")  # (module, name, value)

        # Of a value: itself, or NULL if it is not one
        self.as_node = function("LLVMIsAMDNode", c_void_p, c_void_p)
        self.as_string = function("LLVMIsAMDString", c_void_p, c_void_p)
        self.count = function("LLVMGetMDNodeNumOperands", c_uint, c_void_p)
        self.operands = function("LLVMGetMDNodeOperands", None, c_void_p, c_void_p)
        self.string = function("LLVMGetMDString", c_void_p, c_void_p, POINTER(c_uint))

        # (LLVMContext, text or operands, how many) -> metadata
        self.make_string = function("LLVMMDStringInContext2", c_void_p, c_void_p, c_char_p, c_size_t)
        self.make_node = function("LLVMMDNodeInContext2", c_void_p, c_void_p, c_void_p, c_size_t)
        self.as_value = function("LLVMMetadataAsValue", c_void_p, c_void_p, c_void_p)


_api = cache(_Api)


def _on_module(
    function: Callable[Concatenate[_Api, int, P], R],
) -> Callable[Concatenate[Image, object, P], R]:
    """Make a function of (image, module, ...) of one of (functions of the image, address of the module, ...).

    A call holds the host's lock. It raises TypeError for anything but a module, OptctxError for one that is
    closed, and UnsupportedImageError if the library lacks a function. No other thread may use the module's
    LLVMContext during the call except through the image's host, if that has a lock.
    """

    @wraps(function)
    def call(image: Image, module: object, /, *args: P.args, **named: P.kwargs) -> R:
        host = host_of(image)
        address = host.module_address(module)
        with host.lock():
            return function(_api(image), address, *args, **named)

    return call


@_on_module
def module_names(api: _Api, module: int) -> tuple[str, str]:
    """Return (identifier, name of the source file) of a module. What is not UTF-8 is replaced."""
    length = c_size_t()
    names = []
    for read in (api.identifier, api.source_file):
        at = read(module, byref(length))
        names.append(ctypes.string_at(at, length.value).decode(errors="replace"))
    return names[0], names[1]


class TooLargeError(Exception):
    """Metadata that is larger than its reader wants; the message says what of it."""


class Room:
    """How much of a node, and of the nodes in it, may be read: operands, and bytes of text."""

    def __init__(self, operands: int, size: int) -> None:
        self.operands = operands
        self.bytes = size

    def take(self, operands: int = 0, size: int = 0) -> None:
        """Use up some of it. Raises TooLargeError if there is not so much left."""
        self.operands -= operands
        self.bytes -= size
        if self.operands < 0:
            raise TooLargeError(f"it has more operands than that, by {-self.operands}")
        if self.bytes < 0:
            raise TooLargeError(f"its texts are longer than that, by {-self.bytes} bytes")


@_on_module
def read_named(
    api: _Api, module: int, name: str, depth: int, nodes: int, room: Room, whole: Room
) -> list[tuple[object, ...]]:
    """Return the nodes under a name, in the module's order.

    An operand is bytes, None, a tuple of operands, or OTHER: a constant, for instance, or a node inside more
    than `depth` nodes. Changes nothing that LLVM writes out. Raises TooLargeError, before it has read much,
    for more than `nodes` of them, for one that is larger than `room`, and if all are larger than `whole`:
    one text of a small module may be part of every node.
    """
    key = name.encode()
    count = api.count_named(module, key)  # 0 if it has nothing of that name
    if count > nodes:
        raise TooLargeError(f"there are {count} nodes")
    found = (c_void_p * count)()
    api.named(module, key, found)
    read = []
    for node in found:
        own = Room(room.operands, room.bytes)
        read.append(_operands(api, node, depth, own))
        whole.take(room.operands - own.operands, room.bytes - own.bytes)
    return read


@_on_module
def write_named(api: _Api, module: int, name: str, node: Node) -> None:
    """Replace all that the module has under a name with a node; after an exception, nothing or all of it."""
    context, key = api.llvm_context(module), name.encode()
    existing = api.find(module, key, len(key))
    value = api.as_value(context, _make(api, context, node))
    writes = [[api.clear, existing]] if existing else []
    writes.append([api.append, module, ctypes.cast(c_char_p(key), c_void_p).value or 0, value])
    call_all(writes)


def _operands(api: _Api, node: int, depth: int, room: Room) -> tuple[object, ...]:
    count = api.count(node)
    room.take(operands=count)
    found = (c_void_p * count)()
    api.operands(node, found)
    return tuple(_operand(api, value, depth - 1, room) for value in found)


def _operand(api: _Api, value: int | None, depth: int, room: Room) -> object:
    if value is None:
        return None
    if api.as_string(value):
        length = c_uint()
        text = api.string(value, byref(length))
        room.take(size=length.value)
        return ctypes.string_at(text, length.value)
    if depth > 0 and api.as_node(value):
        return _operands(api, value, depth, room)
    return OTHER


def _make(api: _Api, context: int, operand: bytes | Node | None) -> int | None:
    """Make the metadata for an operand and return its address. LLVM keeps it with the LLVMContext."""
    if operand is None:
        return None
    if isinstance(operand, bytes):
        return int(api.make_string(context, operand, len(operand)))
    made = (c_void_p * len(operand))(*(_make(api, context, each) for each in operand))
    return int(api.make_node(context, made, len(operand)))
