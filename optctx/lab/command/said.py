"""Flags that the program answers in a line. Imports nothing that only commands need."""

from __future__ import annotations

# Where C++ projects find the headers, by the flag that asks: a folder of the package, and the help.
FOLDERS = {
    "--cmakedir": (
        "include/cmake",
        "print the folder for CMake's optctx_ROOT, for find_package(optctx), and exit",
    ),
    "--includes": ("include", "print the flag for a C++ compiler that finds optctx's headers, and exit"),
    "--pkgconfigdir": ("include/pkgconfig", "print the folder for PKG_CONFIG_PATH, and exit"),
}
SAID = ("-V", "--version", *FOLDERS)  # flags that are answered in a line


def said_of(flag: str) -> str:
    """Return what a flag of SAID prints."""
    if flag not in FOLDERS:
        from importlib.metadata import version

        return f"optctx {version('optctx')}"
    from os import path

    from optctx import get_include

    folder = path.join(path.dirname(get_include()), FOLDERS[flag][0])
    return f"-I{folder}" if flag == "--includes" else folder
