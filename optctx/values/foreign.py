"""Flags of clang, opt and llc that are not options of the LLVM library, and what to use instead.

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

_LEVEL = "-{name} is an optimisation level of clang and opt; name the pipeline instead: 'default<{level}>'"
# (pattern of a name without its dashes, what it is and what to use instead). The first match counts.
_FLAGS = (
    (
        r"mllvm|Xllvm",
        "-{name} is clang's way to pass an LLVM option on; leave it out and write the option alone",
    ),
    (r"Xclang|Xlinker|Xassembler", "-{name} is a flag of clang; leave it out"),
    (
        r"mno-[\w.-]+",
        "-{name} is a flag of clang; turn the feature off for the target machine: "
        "create_target_machine(features='-{off}'), or --features=-{off}",
    ),
    (
        r"mattr|target-feature",
        "-{name} is a flag of llc and opt; name the features to the target machine: "
        "create_target_machine(features='+avx2,-fma'), or --features=+avx2,-fma",
    ),
    (
        r"march|mcpu|mtune|target-cpu",
        "-{name} is a flag of clang and llc; name the processor to the target machine: "
        "create_target_machine(cpu=...), or --cpu native",
    ),
    (
        r"mtriple|target",
        "-{name} is a flag of llc and clang; name the target instead: Target.from_triple(...), or --triple",
    ),
    (
        r"m(sse|avx|fma|bmi|aes|popcnt|lzcnt|f16c|adx|sha)[\w.-]*",
        "-{name} is a flag of clang; turn the feature on for the target machine: "
        "create_target_machine(features='+{on}'), or --features=+{on}",
    ),
    (
        r"passes",
        "-passes is a flag of opt; pass the pipeline to run_passes(module, 'default<O3>'), or --passes",
    ),
    (
        r"(ffast-math|funsafe-math-optimizations|ffp-contract|fno-math-errno|fno-signed-zeros|freciprocal-math"
        r"|ffinite-math-only|fassociative-math)",
        "-{name} is a flag of clang: clang writes it into the IR as fast-math flags; compile "
        "the source with it",
    ),
    (
        r"f(no-)?(unroll-loops|vectorize|tree-vectorize|slp-vectorize|lto|thin-lto|inline|inline-functions|pic|pie"
        r"|strict-aliasing|omit-frame-pointer|exceptions|rtti|openmp|wrapv|builtin|sanitize|profile-\w+"
        r"|stack-protector[\w-]*|lax-vector-conversions|PIC|PIE)",
        "-{name} is a flag of clang; compile the source with it, or look for the LLVM option "
        "with `optctx options`",
    ),
    (
        r"W[a-z][\w-]*|std|emit-llvm|I[./].*|D[A-Z_]\w*|isystem|include|w|c|g\d?|S|o|E",
        "-{name} is a flag of a compiler; leave it out",
    ),
    (
        r"filetype|disable-output|relocation-model|code-model",
        "-{name} is a flag of llc or opt; leave it out",
    ),
)
_OPTIMISATION = r"O([0-3sz]|fast|\d+)?"


def advice_for(image: Image, name: str) -> str:
    """Explain a name that is not an LLVM option, and say what to use instead. Empty for unknown names."""
    bare = name.lstrip("-")
    if level := re.fullmatch(_OPTIMISATION, bare):
        number = level[1] if level[1] in ("0", "1", "2", "3", "s", "z") else "3"
        return _LEVEL.format(name=bare, level=f"O{number}")
    for pattern, text in _FLAGS:
        if re.fullmatch(pattern, bare):
            return text.format(name=bare, off=bare[4:].lstrip("-"), on=bare[1:])
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
