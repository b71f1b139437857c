"""What an object's relocations ask for (System V ABI for x86-64, 4.4), and jumps to far functions."""

from __future__ import annotations

MACHINE = 62  # EM_X86_64
NEAR_MAP = 0x40  # MAP_32BIT of mmap: below 2 GiB, where code of the small model works
FAR_JUMP_SIZE = 16

_ABSOLUTE_64, _RELATIVE_32, _BRANCH, _UNSIGNED_32, _SIGNED_32, _RELATIVE_64 = 1, 2, 4, 10, 11, 24
_BY_POINTER = (9, 41, 42)  # GOTPCREL, and the two that a linker may relax
_SIZES = {_ABSOLUTE_64: 8, _RELATIVE_64: 8}
_THREAD_LOCAL = (16, 17, 18, 19, 20, 21, 22, 23, 34, 35, 36)


def wants_pointer(kind: int) -> bool:
    """Whether the relocation is about a pointer to its symbol instead of the symbol."""
    return kind in _BY_POINTER


def relocated(kind: int, target: int, addend: int, place: int) -> bytes:
    """What belongs at `place`; `target` is the symbol, or the pointer to it.

    Raises ValueError, with what is wrong, for a kind that is not known here, and for an address out of reach.
    """
    if kind in _THREAD_LOCAL:
        raise ValueError("it has thread-local variables")
    value = target + addend
    if kind in (_RELATIVE_32, _BRANCH, _RELATIVE_64, *_BY_POINTER):
        value -= place
    elif kind not in (_ABSOLUTE_64, _UNSIGNED_32, _SIGNED_32):
        raise ValueError(f"it has a relocation of the unknown kind {kind}")
    size = _SIZES.get(kind, 4)
    if size == 8:
        return (value & (1 << 64) - 1).to_bytes(8, "little")
    try:
        return value.to_bytes(4, "little", signed=kind != _UNSIGNED_32)
    except OverflowError:
        raise ValueError("an address is out of reach") from None


def far_jump(target: int) -> bytes:
    """Code that jumps to an absolute address."""
    return (b"\xff\x25\0\0\0\0" + target.to_bytes(8, "little")).ljust(FAR_JUMP_SIZE, b"\xcc")  # jmp [rip]
