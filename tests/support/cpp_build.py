"""Compiles C++ against the headers that come with the package."""

from __future__ import annotations

import hashlib
import os
import pathlib
import shutil
import subprocess
from collections.abc import Callable

import optctx
from tests.support.processes import SECONDS

ROOT = pathlib.Path(__file__).parents[2]
PROGRAMS = ROOT / "tests/programs/cpp"
WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")
SHARED = ("-shared", "-fPIC")
Build = Callable[..., pathlib.Path]  # `build_cpp`, as the fixture `build`


def build_cpp(source: str | pathlib.Path, *flags: str, standard: str = "c++17") -> pathlib.Path:
    """Compile one file, of tests/programs/cpp or elsewhere, without a warning.

    Once in a run of the tests for the same text and flags, whichever process asks. Libraries are lib*.so.
    """
    compiler = os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++")
    assert compiler, "a C++ compiler is needed, as it is to build the package"
    file = PROGRAMS / source
    command = [*compiler.split(), f"-std={standard}", "-O1", *WARNINGS, f"-I{optctx.get_include()}"]
    command += [*flags, str(file)]
    digest = hashlib.sha256(repr(command).encode() + file.read_bytes()).hexdigest()
    name = f"lib{file.stem}.so" if SHARED[0] in flags else file.stem
    made = pathlib.Path(os.environ["XDG_CACHE_HOME"], "cpp", digest, name)
    if not made.exists():
        made.parent.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(
            [*command, "-o", str(whole := made.with_suffix(f".{os.getpid()}")), "-pthread", "-ldl"],
            env={name: value for name, value in os.environ.items() if name != "LD_PRELOAD"},
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        whole.rename(made)
    return made


def compile_cpp(source: str | pathlib.Path, out: pathlib.Path, *flags: str) -> pathlib.Path:
    """The same as a file of the caller's own."""
    return pathlib.Path(shutil.copy(build_cpp(source, *flags), out))
