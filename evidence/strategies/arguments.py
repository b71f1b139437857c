"""Command lines in which each option occurs once; and a process that has had none."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable

from optctx.errors import OptionValueError, shown
from optctx.hosts.llvmlite import llvmlite_image
from optctx.image.facts.mangled_names import RESET_OPTIONS
from optctx.image.loaded import Image


def split(argument: str) -> tuple[str, str | None]:
    """(name, text) of an argument such as "-name=text"; the text is None for "-name" alone.

    Raises OptionValueError for anything else: strategies hand arguments to LLVM's parser, which would end the
    process.
    """
    name, equals, text = argument.partition("=")
    bare = name.removeprefix("-").removeprefix("-")
    if not name.startswith("-") or not bare or any(character.isspace() for character in name):
        raise OptionValueError(f"expected an option such as -unroll-count=4, found {shown(argument)}")
    return bare, text if equals else None


def merged(arguments: Iterable[str]) -> tuple[str, ...]:
    """The arguments, of which a later one replaces an earlier one of the same name."""
    texts = dict(map(split, arguments))
    return tuple(f"-{name}" if text is None else f"-{name}={text}" for name, text in texts.items())


def reset_process_options(image: Image | None = None) -> None:
    """Give every option of an LLVM in this process the value and the occurrences that LLVM resets it to.

    Raises UnsupportedImageError if the library lacks the function.
    """
    ctypes.CFUNCTYPE(None)((image or llvmlite_image()).findings.need(RESET_OPTIONS).address)()
