"""An LLVM that is linked of LLVM's archives, as researchers link theirs."""

from __future__ import annotations

import pathlib
import shutil
import subprocess
from functools import partial

import pytest

from tests.support.processes import output_of

PARTS = ("core", "irreader", "passes")
_CONFIG = shutil.which("llvm-config-19")

needs_archives = pytest.mark.skipif(
    _CONFIG is None,
    reason="needs a libLLVM with symbols, linked of LLVM's archives (Debian: llvm-19-dev, g++)",
)


def link(library: pathlib.Path, *words: str) -> str:
    """Link a shared LLVM of these components of LLVM's, with these flags."""
    assert _CONFIG is not None
    flags, components = ([word for word in words if word.startswith("-") is given] for given in (True, False))
    config = partial(output_of, _CONFIG, "--link-static")
    archives, others = config("--libfiles", *components).split(), config("--system-libs", *components).split()
    whole = ("-Wl,--whole-archive", *archives, "-Wl,--no-whole-archive")
    subprocess.run(["g++", "-shared", *flags, "-o", library, *whole, *others], check=True)
    return str(library)
