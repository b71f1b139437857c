"""Has the kernel refuse system calls, for scripts that a test runs in a process of their own."""

from __future__ import annotations

import ctypes
import struct
import sys

CALLS = {"mprotect": 10, "mremap": 25, "membarrier": 324}  # x86-64
_LOAD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06  # linux/bpf_common.h
_FAIL, _ALLOW = 0x00050000, 0x7FFF0000  # linux/seccomp.h
_PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS, _SECCOMP_MODE_FILTER = 22, 38, 2  # linux/prctl.h, linux/seccomp.h


def refuse(call: str, error: int) -> None:
    """From now on the call fails with this error number, on this thread and those that it starts.

    Ends the process with a line on standard output where the kernel has no seccomp filters.
    """
    lines = [(_LOAD, 0, 0, 0), (_JUMP_IF_EQUAL, 0, 1, CALLS[call])]
    lines += [(_RETURN, 0, 0, _FAIL | error), (_RETURN, 0, 0, _ALLOW)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("<HBBI", *line) for line in lines))
    program = ctypes.create_string_buffer(struct.pack("<HxxxxxxQ", len(lines), ctypes.addressof(code)))
    prctl = ctypes.CDLL(None).prctl
    prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, program):
        print("the kernel has no seccomp filters")
        sys.exit()
