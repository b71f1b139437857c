"""Reads the files that commands compile: LLVM IR as text or bitcode, or C and C++ through clang."""

from __future__ import annotations

import os
import shutil
import subprocess

from optctx.compiling import Job, check_readable, why_passes_skip
from optctx.errors import OptctxError
from optctx.lab.command.console import complain
from optctx.lab.program import SOURCES, words_of
from optctx.lab.repeat import Source, front_words

BITCODE = (b"BC\xc0\xde", b"\xde\xc0\x17\x0b")  # bare, and in a wrapper
_LONGEST = 300  # characters of a message of clang


def read_input(path: str, target: Job, clang: str = "clang") -> str | bytes:
    """Read the module in a file, as text or bitcode, for a job with this target. "-" is standard input.

    `clang`: the program for C and C++, with its options as a shell would split them. A fresh process reads
    the module first, because a broken one can end the process, or keep LLVM busy for ever. Raises OptctxError
    for a file that cannot be read or compiled, and for a module that LLVM's verifier refuses.
    """
    source = os.path.splitext(path)[1] in SOURCES
    data = _compile(path, target, clang) if source else read_file(path, "LLVM IR or bitcode")
    try:
        module = data if data.startswith(BITCODE) else data.decode()
    except UnicodeDecodeError:
        raise OptctxError(
            f"cannot read {path}: expected LLVM IR as text in UTF-8 or as bitcode, found neither"
        ) from None
    _check(path, module, target, clang if source else "")
    return module


def read_file(path: str, expected: str) -> bytes:
    """Read a file, which may be a pipe; "-" is standard input. Raises OptctxError if it cannot be read, or is
    empty.

    `expected`: what it should contain, for the message.
    """
    try:
        with open(0 if path == "-" else path, "rb", closefd=path != "-") as file:
            data = file.read()
    except OSError as error:
        raise OptctxError(f"cannot read {path}: {error.strerror}") from None
    if not data.strip():
        raise OptctxError(f"cannot use {path}: expected {expected}, found nothing")
    return data


def note_skipped(file: str, job: Job) -> None:
    """Note that passes skip the functions of a file, which LLVM has read before in a fresh process."""
    if why := why_passes_skip(job):
        complain(f"{file}: {why}")


def clang_words(clang: str) -> tuple[str, ...]:
    """The program, and its options. Raises OptctxError."""
    return tuple(words_of("--clang", clang)) or ("clang",)


def _compile(path: str, target: Job, clang: str) -> bytes:
    """Compile a source file to bitcode, without optimisation."""
    words = clang_words(clang)
    if shutil.which(words[0]) is None:
        raise OptctxError(
            f"cannot compile {path}: {words[0]} is not installed; "
            "apt-get install clang, or name another one with --clang"
        )
    source = Source(path, target, clang=words)
    done = subprocess.run(front_words(source, "-"), stdin=subprocess.DEVNULL, capture_output=True)
    if done.returncode:
        raise OptctxError(f"cannot compile {path}: clang says: {_first_error(done.stderr)}")
    return done.stdout


def _first_error(stderr: bytes) -> str:
    lines = [line.strip() for line in stderr.decode(errors="replace").splitlines() if line.strip()]
    errors = [line for line in lines if "error:" in line]
    return " ".join((errors or lines or ["nothing"])[0].split())[:_LONGEST]


def _check(path: str, module: str | bytes, target: Job, clang: str) -> None:
    """Raise OptctxError, with the file's name, for a module that LLVM refuses, or crashes on.

    `clang`: the program that made it.
    """
    try:
        check_readable(module, target.triple, target.llvm)
    except OptctxError as error:
        said, hint = str(error), ""
        if isinstance(module, bytes) and "bitcode parsing error" in said:
            advice = f"; name an older clang than {clang!r} with --clang" if clang else ""
            hint = f"; it is cut off, damaged or of a newer LLVM{advice}"
        elif "expected top-level entity" in said:  # what LLVM says of C
            hint = "; C and C++ are read by the name: .c, .cpp"
        said = said.replace("the module: LLVM IR parsing error <string>", path).replace("the module", path, 1)
        raise type(error)(f"{said.rstrip(' ^')}{hint}") from None
