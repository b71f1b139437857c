"""Functions that the tests of pools have children call. What is prepared comes first, mostly a number."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import threading
import time
from typing import NoReturn

from optctx.children.messages import address_space, encode
from optctx.errors import OptctxError


def refuse() -> NoReturn:
    """Cannot prepare."""
    raise OptctxError("it cannot be prepared")


def give_up() -> NoReturn:
    """End while preparing."""
    print("LLVM ERROR: odd", file=sys.stderr)
    os._exit(3)


def at_fork(moment: str, number: int) -> int:
    """Prepare a server that gets a signal at that moment of its first fork, as os.register_at_fork has it."""
    server = os.getpid()
    os.register_at_fork(**{moment: lambda: os.kill(server, number)})
    return 1


def at_once(number: int) -> NoReturn:
    """Get a signal while preparing."""
    os.kill(os.getpid(), number)
    raise AssertionError


def same(_: object, text: str | None, data: bytes, numbers: dict[str, list[float]]) -> list[object]:
    return [text, data, numbers]


def process(_: object) -> tuple[int, int]:
    """(process, its parent)."""
    return os.getpid(), os.getppid()


def place(_: object, variable: str) -> tuple[str, str | None]:
    return os.getcwd(), os.environ.get(variable)


def refused(_: object) -> NoReturn:
    raise OptctxError("LLVM refuses it")


def broken(_: object) -> NoReturn:
    raise LookupError("nothing \udcff there")


def crash(_: object) -> NoReturn:
    os.kill(os.getpid(), signal.SIGSEGV)
    raise AssertionError


def exits(_: object) -> NoReturn:
    print("LLVM ERROR: odd", file=sys.stderr)
    os._exit(1)


def hang(_: object) -> NoReturn:
    """With a process of its own that hangs as well."""
    subprocess.Popen(["sleep", "3600"])
    while True:
        time.sleep(3600)


def wait(_: object) -> NoReturn:
    """Hang alone."""
    while True:
        time.sleep(3600)


def no_memory(_: object) -> int:
    """Python gets none from here on."""
    resource.setrlimit(resource.RLIMIT_AS, (address_space(), address_space()))
    return len(bytearray(1 << 30))


def address_space_limit(_: object) -> int:
    return resource.getrlimit(resource.RLIMIT_AS)[0]


def write(_: object, data: bytes) -> int:
    """Write to every descriptor that leads anywhere: the child's own answers are among them."""
    for descriptor in range(3, 64):
        try:
            if os.readlink(f"/proc/self/fd/{descriptor}").startswith(("pipe:", "socket:")):
                os.write(descriptor, data)
        except OSError:
            pass
    return 1


# For crowds: the number of a call says what it does.

CRASHES, HANGS, EXITS, PRINTS, BABBLES, SLOW = 3, 5, 7, 9, 11, 50


def each(prepared: int, number: int) -> tuple[int, int, bool]:
    """(number, process, whether it is made alone there), unless the number says otherwise."""
    if number == CRASHES:
        os.kill(os.getpid(), signal.SIGSEGV)
    if number == HANGS:
        time.sleep(3600)
    if number == EXITS:
        os.write(2, b"LLVM ERROR: odd\n")
        os._exit(1)
    if number == BABBLES:
        write(None, encode([BABBLES, ["raised", None, "an answer of no crowd's"], ""]))
    if number % 100 == PRINTS:
        os.write(2, f"printed by {number}\n".encode())
    time.sleep(0.5 if number == SLOW else 0.01)
    return number, os.getpid(), threading.current_thread() is threading.main_thread()


def die_by_tens(_: int, number: int) -> int:
    """Those of 10 to 19 end the process. The others say which one they run in."""
    if number // 10 == 1:
        os._exit(1)
    time.sleep(0.02)
    return os.getpid()
