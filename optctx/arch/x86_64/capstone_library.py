"""The library in capstone's package, through ctypes.

The package itself imports the tables of every processor, which take 7 MB and as long as a tenth of attaching.
The structures are those of capstone 5 (capstone.h, x86.h); a known instruction is decoded to prove them.
"""

from __future__ import annotations

import ctypes
import os
from importlib.util import find_spec
from typing import Any

MAJOR = 5  # version of the library with these structures
REGISTER, MEMORY = 1, 3  # types of operands
NO_REGISTER = 0
_X86, _MODE_64, _DETAIL, _ON = 3, 1 << 3, 2, 3
_KNOWN = bytes.fromhex("488b0d78563412")  # mov rcx, [rip + 0x12345678]


def _each(kind: Any, names: str) -> tuple[tuple[str, Any], ...]:
    return tuple((name, kind) for name in names.split())


_BYTE, _NUMBER = ctypes.c_uint8, ctypes.c_uint


class _Memory(ctypes.Structure):
    _fields_ = (
        *_each(_NUMBER, "segment base index"),
        ("scale", ctypes.c_int),
        ("displacement", ctypes.c_int64),
    )


class _Value(ctypes.Union):
    _fields_ = (("register", _NUMBER), ("immediate", ctypes.c_int64), ("memory", _Memory))


class _Operand(ctypes.Structure):
    _fields_ = (
        ("type", _NUMBER),
        ("value", _Value),
        *_each(_BYTE, "size access"),  # size: bytes
        ("broadcast", _NUMBER),
        ("zeroes", ctypes.c_bool),
    )


class _Encoding(ctypes.Structure):
    _fields_ = _each(_BYTE, "modrm_offset disp_offset disp_size imm_offset imm_size")


class _X86Detail(ctypes.Structure):
    _fields_ = (
        *_each(_BYTE * 4, "prefix opcode"),
        *_each(_BYTE, "rex addr_size modrm sib"),
        ("disp", ctypes.c_int64),
        ("sib_index", _NUMBER),
        ("sib_scale", ctypes.c_int8),
        *_each(_NUMBER, "sib_base xop_cc sse_cc avx_cc"),
        ("avx_sae", ctypes.c_bool),
        ("avx_rm", _NUMBER),
        ("flags", ctypes.c_uint64),
        ("op_count", _BYTE),
        ("operands", _Operand * 8),
        ("encoding", _Encoding),
    )


class _Detail(ctypes.Structure):
    _fields_ = (
        ("regs_read", ctypes.c_uint16 * 20),
        ("regs_read_count", _BYTE),
        ("regs_write", ctypes.c_uint16 * 20),
        ("regs_write_count", _BYTE),
        ("groups", _BYTE * 8),
        ("groups_count", _BYTE),
        ("writeback", ctypes.c_bool),
        ("x86", _X86Detail),
    )


class _Instruction(ctypes.Structure):
    _fields_ = (
        ("id", _NUMBER),
        ("address", ctypes.c_uint64),
        ("size", ctypes.c_uint16),
        ("bytes", ctypes.c_ubyte * 24),
        ("mnemonic", ctypes.c_char * 32),
        ("op_str", ctypes.c_char * 160),
        ("detail", ctypes.POINTER(_Detail)),
    )


INSTRUCTION = ctypes.POINTER(_Instruction)
_SIZE, _TEXT, _ADDRESS = ctypes.c_size_t, ctypes.c_char_p, ctypes.c_uint64
_HANDLE, _OUT = _SIZE, ctypes.POINTER
_FUNCTIONS: dict[str, tuple[Any, ...]] = {  # result, arguments (capstone.h)
    "cs_version": (_NUMBER, _OUT(ctypes.c_int), _OUT(ctypes.c_int)),
    "cs_open": (ctypes.c_int, _NUMBER, _NUMBER, _OUT(_HANDLE)),
    "cs_option": (ctypes.c_int, _HANDLE, _NUMBER, _SIZE),
    "cs_reg_name": (_TEXT, _HANDLE, _NUMBER),
    "cs_malloc": (INSTRUCTION, _HANDLE),
    "cs_free": (None, INSTRUCTION, _SIZE),
    "cs_disasm": (_SIZE, _HANDLE, _TEXT, _SIZE, _ADDRESS, _SIZE, _OUT(INSTRUCTION)),
    "cs_disasm_iter": (ctypes.c_bool, _HANDLE, _OUT(_TEXT), _OUT(_SIZE), _OUT(_ADDRESS), INSTRUCTION),
}


def open_library() -> Any:
    """Open the library. Raises ImportError if there is none, or one of another version."""
    spec = find_spec("capstone")
    if spec is None:
        raise ImportError("the package capstone is not installed")
    paths = [
        os.path.join(folder, "lib", "libcapstone.so") for folder in spec.submodule_search_locations or ()
    ]
    # Debian's package has no library of its own and takes the system's.
    path = next(filter(os.path.exists, paths), f"libcapstone.so.{MAJOR}")
    try:
        library = ctypes.CDLL(path)
        for name, (result, *arguments) in _FUNCTIONS.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
    except (OSError, AttributeError) as error:
        raise ImportError(f"capstone's library cannot be used: {error}") from error
    major, minor = ctypes.c_int(), ctypes.c_int()
    library.cs_version(ctypes.byref(major), ctypes.byref(minor))
    if major.value != MAJOR:
        raise ImportError(f"found capstone {major.value}.{minor.value}, expected {MAJOR}")
    return library


def open_decoder(library: Any, *, details: bool) -> int:
    """Return a handle for x86-64, with or without details of each instruction.

    Raises ImportError if instructions are laid out otherwise than the structures say.
    """
    handle = _HANDLE()
    if library.cs_open(_X86, _MODE_64, ctypes.byref(handle)) != 0:
        raise ImportError("capstone's library has no decoder for x86-64")
    if details:
        library.cs_option(handle, _DETAIL, _ON)
        _prove(library, handle.value)
    return handle.value


def _prove(library: Any, handle: int) -> None:
    """Raise ImportError if a known instruction is not laid out as the structures say."""
    found = INSTRUCTION()
    if library.cs_disasm(handle, _KNOWN, len(_KNOWN), 0x1000, 1, ctypes.byref(found)) == 1:
        one = found[0]
        detail = one.detail.contents.x86
        first, second = detail.operands[0], detail.operands[1]
        memory = second.value.memory
        said = (
            (one.address, one.size, one.mnemonic, detail.addr_size, detail.modrm, detail.op_count),
            (first.type, library.cs_reg_name(handle, first.value.register), first.size),
            (second.type, library.cs_reg_name(handle, memory.base), memory.index, memory.displacement),
            (second.size, detail.encoding.modrm_offset, detail.encoding.disp_offset),
        )
        library.cs_free(found, 1)
        if said == (
            (0x1000, 7, b"mov", 8, 0x0D, 2),
            (REGISTER, b"rcx", 8),
            (MEMORY, b"rip", NO_REGISTER, 0x12345678),
            (8, 2, 3),
        ):
            return
    raise ImportError("capstone's library lays instructions out otherwise than version 5 does")
