"""Sets options for a whole process, as a compiler's command line does."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from optctx.hosts.llvmlite import llvmlite_image
from optctx.image.facts.mangled_names import (
    ADD_OCCURRENCE,
    PARSE_OPTIONS,
    PARSE_PARAMETERS,
    RESET_OPTION,
    RESET_OPTIONS,
)

__all__ = ["add_occurrence", "reset_option", "reset_process_options", "set_process_options"]


def set_process_options(arguments: Sequence[str]) -> None:
    """Set options for this process, permanently, from arguments such as "-unroll-count=4".

    As in a compiler, an unknown option or a bad value ends the process with status 1 and LLVM's message on
    standard error. `llvmlite.binding.set_option` is no reference, because it silently ignores unknown
    options. Raises UnsupportedImageError if the library does not have LLVM's command line parser.
    """
    found = llvmlite_image().findings.need(PARSE_OPTIONS)
    parse = ctypes.CFUNCTYPE(ctypes.c_bool, *(PARSE_PARAMETERS[name][0] for name in found.form))(
        found.address
    )
    words = ["optctx", *arguments]
    argv = (ctypes.c_char_p * len(words))(*(word.encode() for word in words))
    given = {"argc": len(words), "argv": argv}
    parse(*(given.get(name, PARSE_PARAMETERS[name][1]) for name in found.form))


def reset_process_options() -> None:
    """Give every option of this process the value and the occurrences that LLVM resets it to.

    Raises UnsupportedImageError if the library lacks the function.
    """
    ctypes.CFUNCTYPE(None)(llvmlite_image().findings.need(RESET_OPTIONS).address)()


def add_occurrence(option: int, name: str, value: str) -> bool:
    """Give one option of this process a value, as code does that uses LLVM's registry itself.

    `option`: address of the `cl::Option`. Returns whether LLVM took the value; otherwise it has printed why.
    Raises UnsupportedImageError if the library lacks the function.
    """
    function = llvmlite_image().findings.need(ADD_OCCURRENCE).address
    text = (ctypes.c_char_p, ctypes.c_size_t)  # a StringRef takes two registers
    form = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_uint, *text, *text, ctypes.c_bool)
    words = name.encode(), value.encode()
    return not form(function)(option, 0, words[0], len(words[0]), words[1], len(words[1]), False)


def reset_option(option: int) -> None:
    """Give one option of this process its default, as if it had never been given.

    `option`: address of the `cl::Option`. Raises UnsupportedImageError if the library lacks the function.
    """
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(llvmlite_image().findings.need(RESET_OPTION).address)(option)
