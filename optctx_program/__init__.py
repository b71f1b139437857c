"""The program `optctx`, outside the package: an interrupt while that is imported is one line as well."""

from __future__ import annotations

import atexit
import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType

__all__ = ["FOLDERS", "SAID", "main", "said_of"]

# Where C++ projects find the headers, by the flag that asks: a folder of the package, and the help.
FOLDERS = {
    "--cmakedir": ("cmake", "print the folder for CMake's optctx_ROOT, for find_package(optctx), and exit"),
    "--includes": ("include", "print the flag for a C++ compiler that finds optctx's headers, and exit"),
    "--pkgconfigdir": ("pkgconfig", "print the folder for PKG_CONFIG_PATH, and exit"),
}
SAID = ("-V", "--version", *FOLDERS)  # flags that are answered in a line
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main(argv: Sequence[str] | None = None) -> int:
    """Run `optctx.lab.command.main.main`. A signal before it ends the process at once, as nothing has begun.
    One after it leaves the exit status as it is, until the process is gone.
    """
    given = sys.argv[1:] if argv is None else list(argv)
    if len(given) == 1 and given[0] in SAID and _say(given[0]):
        return 0
    status = -1

    def end(number: int, frame: FrameType | None) -> None:
        if status < 0:
            os.write(2, b"optctx: interrupted\n")
        os._exit(128 + number if status < 0 else status)

    atexit.register(_ignore)  # registered first, so it runs last
    for each in _ENDING:
        if signal.getsignal(each) is not signal.SIG_IGN:  # nohup, or a shell that runs it beside others
            signal.signal(each, end)
    from optctx.lab.command.main import main as run

    status = run(given)
    return status


def _ignore() -> None:
    """Python's own end gives signals with handlers their default effect, which would be the exit status."""
    for each in _ENDING:
        signal.signal(each, signal.SIG_IGN)


def _say(flag: str) -> bool:
    """Answer without all that importing the package takes. False where it cannot be printed."""
    try:
        sys.stdout.write(f"{said_of(flag)}\n")
        sys.stdout.flush()
    except (AttributeError, OSError, ImportError, ValueError):  # what runs the command says it better
        return False
    return True


def said_of(flag: str) -> str:
    """Return what a flag of SAID prints. Imports nothing of the package."""
    if flag not in FOLDERS:
        from importlib.metadata import version

        return f"optctx {version('optctx')}"
    from importlib.util import find_spec

    spec = find_spec("optctx")
    if spec is None or spec.origin is None:
        raise ImportError("the package optctx is not installed beside its program")
    folder = os.path.join(os.path.dirname(os.path.abspath(spec.origin)), FOLDERS[flag][0])
    return f"-I{folder}" if flag == "--includes" else folder
