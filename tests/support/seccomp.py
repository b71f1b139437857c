"""System calls that the kernel refuses to a process, for good and for its children: seccomp(2), x86-64."""

from __future__ import annotations

import ctypes
import errno
import faulthandler
import os
import platform
import signal
import struct

# Of x86-64 (asm/unistd_64.h).
_FORBIDDEN = {
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
_OTHERS = {"mmap": 9, "mprotect": 10, "mremap": 25, "process_vm_readv": 310}
_X32 = 0x40000000

_LOAD, _EQUAL, _AT_LEAST, _SET, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06  # linux/bpf_common.h
_ALLOW, _ERRNO, _TRAP, _KILL_PROCESS = 0x7FFF0000, 0x00050000, 0x00030000, 0x80000000  # linux/seccomp.h
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16  # bytes into struct seccomp_data; the low half
_X86_64 = 0xC000003E  # linux/audit.h
_NO_NEW_PRIVILEGES, _SET_SECCOMP, _FILTER = 38, 22, 2  # linux/prctl.h, linux/seccomp.h
_SET_MDWE, _REFUSE_EXEC_GAIN, _EXECUTABLE = 65, 1, 4  # linux/prctl.h, asm-generic/mman-common.h

Line = tuple[int, int, int, int]  # of a filter: code, lines to skip if it holds and if not, value


def confine() -> None:
    """End this process, with SIGSYS, as soon as it reaches outside.

    A compilation may compute, allocate memory, and read and write files that are open already. Whatever opens
    or changes a file, starts a program or a thread, maps code, talks to the network or signals another
    process ends it before that has happened. So does whatever makes a child, which would otherwise end alone.

    A Python stack of the call goes to standard error. Raises OSError.
    """
    if platform.machine() != "x86_64":
        raise OSError("the numbers of system calls are those of x86-64")
    faulthandler.register(signal.SIGSYS, 2, all_threads=False, chain=True)
    lines = [
        *[(_LOAD, 0, 0, _ARCHITECTURE), (_EQUAL, 1, 0, _X86_64), (_RETURN, 0, 0, _KILL_PROCESS)],
        *[(_LOAD, 0, 0, _NUMBER), (_AT_LEAST, 0, 1, _X32), (_RETURN, 0, 0, _KILL_PROCESS)],
    ]
    for name in sorted(_FORBIDDEN):
        lines += _refused(name, _TRAP)
    _install(lines + _refused("mmap", _TRAP, 2, _EXECUTABLE) + _refused("mprotect", _TRAP, 2, _EXECUTABLE))


def forbid_code() -> None:
    """Have no page become executable from now on; before Linux 6.3, which has a call for it, by a filter."""
    if ctypes.CDLL(None).prctl(_SET_MDWE, _REFUSE_EXEC_GAIN, 0, 0, 0):
        refuse("mprotect", errno.EACCES, argument=2, bits=_EXECUTABLE)


def refuse(call: str, error: int, argument: int = 0, bits: int = 0) -> None:
    """Have a system call fail with an error number, on this thread and those that it starts.

    With `bits`, only where its argument of that number, from 0, has any of them. Raises OSError where the
    kernel takes no filter.
    """
    _install(_refused(call, _ERRNO | error, argument, bits))


def _refused(call: str, answer: int, argument: int = 0, bits: int = 0) -> list[Line]:
    checked = [(_LOAD, 0, 0, _FIRST_ARGUMENT + 8 * argument), (_SET, 0, 1, bits)] if bits else []
    number = {**_FORBIDDEN, **_OTHERS}[call]
    asked = [(_LOAD, 0, 0, _NUMBER), (_EQUAL, 0, len(checked) + 1, number)]
    return [*asked, *checked, (_RETURN, 0, 0, answer)]


def _install(lines: list[Line]) -> None:
    """Install a filter (linux/filter.h) that otherwise allows a call."""
    code = [struct.pack("<HBBI", *line) for line in (*lines, (_RETURN, 0, 0, _ALLOW))]
    body = ctypes.create_string_buffer(b"".join(code))
    program = struct.pack("@HP", len(code), ctypes.addressof(body))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) or libc.prctl(_SET_SECCOMP, _FILTER, program, 0, 0):
        failed = ctypes.get_errno()
        raise OSError(failed, f"cannot install a system call filter: {os.strerror(failed)}")
