"""A process that the kernel ends as soon as it reaches outside: seccomp(2), for good and for its children.

A compilation may compute, allocate memory, and read and write files that are open already. Whatever opens or
changes a file, starts a program or a thread, maps code, talks to the network or signals another process ends
with SIGSYS, before it has happened. So does whatever makes a child, which would otherwise end alone.
"""

from __future__ import annotations

import ctypes
import faulthandler
import os
import platform
import signal
import struct
from collections.abc import Collection

__all__ = ["FORBIDDEN", "confine"]

# Of x86-64 (asm/unistd_64.h).
FORBIDDEN = {
    "open": 2, "openat": 257, "openat2": 437, "creat": 85, "open_by_handle_at": 304,
    "execve": 59, "execveat": 322, "fork": 57, "vfork": 58, "clone": 56, "clone3": 435,
    "socket": 41, "connect": 42, "sendto": 44, "sendmsg": 46, "bind": 49,
    "rename": 82, "renameat": 264, "renameat2": 316, "mkdir": 83, "mkdirat": 258, "rmdir": 84,
    "link": 86, "linkat": 265, "unlink": 87, "unlinkat": 263, "symlink": 88, "symlinkat": 266,
    "mknod": 133, "mknodat": 259, "truncate": 76, "chmod": 90, "fchmodat": 268, "chown": 92, "lchown": 94,
    "fchownat": 260, "utimensat": 280, "setxattr": 188, "chdir": 80, "chroot": 161, "mount": 165,
    "ptrace": 101, "process_vm_writev": 311, "kill": 62, "memfd_create": 319, "shmget": 29,
    "io_uring_setup": 425,
}  # fmt: skip
_MAP_EXECUTABLE = (9, 10)  # mmap, mprotect: argument 2 holds PROT_EXEC

_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 38, 22, 2
_ARCH_X86_64 = 0xC000003E
_ALLOW, _TRAP, _KILL_PROCESS = 0x7FFF0000, 0x00030000, 0x80000000
_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _JUMP_SET, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCH, _THIRD_ARGUMENT = 0, 4, 32  # offsets in struct seccomp_data
_X32 = 0x40000000
_PROT_EXEC = 4


def confine(allowed: Collection[str] = ()) -> None:
    """From now on, and for good, a forbidden system call is a SIGSYS instead, which ends this process.

    `allowed`: names of FORBIDDEN that are not forbidden. A Python stack of the call goes to standard error.
    Raises OSError.
    """
    if platform.machine() != "x86_64":
        raise OSError("the numbers of system calls are those of x86-64")
    faulthandler.register(signal.SIGSYS, 2, all_threads=False, chain=True)
    library = ctypes.CDLL(None, use_errno=True)
    code = _program(sorted(number for name, number in FORBIDDEN.items() if name not in allowed))
    body = ctypes.create_string_buffer(b"".join(code), len(code) * 8)
    program = struct.pack("@HxxxxxxQ", len(code), ctypes.addressof(body))
    for arguments in (
        (_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
        (_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.c_char_p(program), 0, 0),
    ):
        if library.prctl(*arguments) != 0:
            failed = ctypes.get_errno()
            raise OSError(failed, os.strerror(failed))


def _program(numbers: list[int]) -> list[bytes]:
    """Classic BPF (linux/filter.h): instructions of 8 bytes, jumps relative to the next one."""
    to_kill = 2 + len(_MAP_EXECUTABLE) + 3  # instructions from the end of the list of numbers
    code = [
        _op(_LOAD, _ARCH),
        _op(_JUMP_EQUAL, _ARCH_X86_64, 1, 0),
        _op(_RETURN, _KILL_PROCESS),
        _op(_LOAD, _NUMBER),
        _op(_JUMP_AT_LEAST, _X32, 0, 1),
        _op(_RETURN, _KILL_PROCESS),
    ]
    for place, number in enumerate(numbers):
        code.append(_op(_JUMP_EQUAL, number, len(numbers) - place - 1 + to_kill - 1, 0))
    code += [
        _op(_JUMP_EQUAL, _MAP_EXECUTABLE[0], 2, 0),
        _op(_JUMP_EQUAL, _MAP_EXECUTABLE[1], 1, 0),
        _op(_RETURN, _ALLOW),
        _op(_LOAD, _THIRD_ARGUMENT),
        _op(_JUMP_SET, _PROT_EXEC, 1, 0),
        _op(_RETURN, _ALLOW),
        _op(_RETURN, _TRAP),
    ]
    return code


def _op(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)
