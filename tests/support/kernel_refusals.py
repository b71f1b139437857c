"""Has the kernel refuse system calls, in processes that a test starts for that (seccomp(2), x86-64)."""

from __future__ import annotations

import ctypes
import errno
import struct

__all__ = ["forbid_code", "refuse"]

_CALLS = {"mprotect": 10, "mremap": 25, "process_vm_readv": 310, "membarrier": 324}
_LOAD, _EQUAL, _SET, _RETURN = 0x20, 0x15, 0x45, 0x06  # linux/bpf_common.h
_ERRNO, _ALLOW = 0x00050000, 0x7FFF0000  # linux/seccomp.h
_NO_NEW_PRIVILEGES, _SET_SECCOMP, _FILTER = 38, 22, 2  # linux/prctl.h, linux/seccomp.h
_FIRST_ARGUMENT = 16  # bytes into struct seccomp_data; its low half
_SET_MDWE, _REFUSE_EXEC_GAIN, _EXECUTABLE = 65, 1, 4  # linux/prctl.h, asm-generic/mman-common.h


def forbid_code() -> None:
    """Have no page become executable from now on; before Linux 6.3, which has a call for it, by a filter."""
    if ctypes.CDLL(None).prctl(_SET_MDWE, _REFUSE_EXEC_GAIN, 0, 0, 0):
        refuse("mprotect", errno.EACCES, argument=2, bits=_EXECUTABLE)


def refuse(call: str, error: int, argument: int = 0, bits: int = 0) -> None:
    """Have a system call fail with an error number, on this thread and those that it starts.

    With `bits`, only where its argument of that number, from 0, has any of them. Raises OSError where the
    kernel takes no filter.
    """
    lines = [(_LOAD, 0, 0, 0), (_EQUAL, 0, 3 if bits else 1, _CALLS[call])]
    if bits:
        lines += [(_LOAD, 0, 0, _FIRST_ARGUMENT + 8 * argument), (_SET, 0, 1, bits)]
    lines += [(_RETURN, 0, 0, _ERRNO | error), (_RETURN, 0, 0, _ALLOW)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("<HBBI", *line) for line in lines))
    program = struct.pack("@HP", len(lines), ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) or libc.prctl(_SET_SECCOMP, _FILTER, program, 0, 0):
        raise OSError(ctypes.get_errno(), "cannot install a system call filter")
