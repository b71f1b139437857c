"""Common flags of clang, opt and llc that are not options of the LLVM library, and what to use instead.

And the names of LLVM's passes, as the library itself lists them (`opt -print-passes`).
"""

from __future__ import annotations

import ctypes
import os
import re
from ctypes import c_bool, c_int, c_void_p
from functools import cache

from optctx.image.facts.mangled_names import END_STREAM, MAKE_STREAM, PRINT_PASS_NAMES
from optctx.image.loaded import Image

# What a flag is called, as a pattern, and what does the same.
_FLAGS = (
    (r"O([0-3sz]|fast)?", "name the pipeline: 'default<O3>'"),
    (r"passes|p", "pass the pipeline to run_passes(module, 'default<O3>'), or --passes"),
    (
        r"m(arch|cpu|tune|attr|triple|abi|cmodel)|(code|relocation)-model|f(no-)?(PIC|pic|PIE|pie)",
        "give it to the target machine: create_target_machine(cpu=..., features=...), or --llc -mcpu=native",
    ),
    (r"mllvm|X(llvm|clang)", "leave it out, and write an LLVM option alone"),
    (r"f(fast-math|(no-)?(unroll-loops|vectorize|slp-vectorize|lto))", "compile the source with it"),
)


def advice_for(image: Image, name: str) -> str:
    """Explain a name that is not an LLVM option, and say what to use instead. Empty for unknown names."""
    bare = name.lstrip("-")
    for pattern, instead in _FLAGS:
        if re.fullmatch(pattern, bare):
            return f"-{bare} is a flag of clang, opt or llc, not of LLVM's library; {instead}"
    if bare in pass_names(image):
        return (
            f"{bare!r} is a pass; name it in the pipeline: run_passes(module, {bare!r}), or --passes {bare}"
        )
    return ""


_STREAM_SIZE = 1024  # bytes; an llvm::raw_fd_ostream takes about a hundred
_FD_STREAM = 1  # raw_ostream::OStreamKind::OK_FDStream
_LONGEST = 1 << 20  # bytes; LLVM 22 prints 12 KB


@cache
def pass_names(image: Image) -> dict[str, str]:
    """Map each pass, without parameters, to what it runs on: "module", "cgscc", "function" or "loop".

    Returns an empty dict if the library cannot list them. Takes a millisecond, and changes nothing.
    """
    facts = (PRINT_PASS_NAMES, MAKE_STREAM, END_STREAM)
    print_names, make_stream, end_stream = (image.findings.find(fact) for fact in facts)
    if print_names is None or make_stream is None or end_stream is None:
        return {}
    descriptor = os.memfd_create("passes")
    try:
        stream = ctypes.create_string_buffer(_STREAM_SIZE)
        at = ctypes.addressof(stream)
        # raw_fd_ostream(int fd, bool close, bool unbuffered, raw_ostream::OStreamKind)
        make = ctypes.CFUNCTYPE(None, c_void_p, c_int, c_bool, c_bool, c_int)(make_stream.address)
        make(at, descriptor, False, True, _FD_STREAM)
        ctypes.CFUNCTYPE(None, c_void_p, c_void_p)(print_names.address)(at, at)
        ctypes.CFUNCTYPE(None, c_void_p)(end_stream.address)(at)
        text = os.pread(descriptor, _LONGEST, 0).decode()
    finally:
        os.close(descriptor)
    return _passes(text)


def _passes(text: str) -> dict[str, str]:
    """Parse the sections of passes, without analyses and the machine passes, which llvmlite cannot run."""
    found: dict[str, str] = {}
    kind = ""
    for line in text.splitlines():
        if not line.startswith(" "):
            section = re.match(r"(Module|CGSCC|Function|Loop)(Nest)? passes", line)
            kind = section[1].lower() if section else ""
        elif kind:
            found.setdefault(line.strip().partition("<")[0], kind)
    return found
