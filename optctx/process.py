"""This process's options as command-line arguments and back, for tools that compile in other processes.

A door of the core: tools take nothing else from it but `optctx` and `optctx.compiling`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from optctx.context.context import OptionContext
from optctx.engine.attach import attach
from optctx.errors import OptionValueError
from optctx.hosts.llvmlite import llvmlite_image
from optctx.image.facts.mangled_names import PARSE_OPTIONS, PARSE_PARAMETERS
from optctx.image.loaded import Image
from optctx.reads.recording import noting, read_in
from optctx.travelling.attributes import Attributes, attributes_policy
from optctx.values.texts import Texts, text_form

__all__ = [
    "Attributes",
    "all_arguments",
    "attributes_policy",
    "noting",
    "option_name",
    "read_in",
    "set_process_options",
]


def all_arguments(context: OptionContext, image: Image | None = None) -> tuple[str, ...]:
    """The command line, such as "-unroll-count=4", for every option that the context does not have as
    registered, with process-wide values of options that contexts cannot hold.

    Raises OptionValueError for a value without a text form.
    """
    texts = {**_process_texts(image), **context._layers.flat()}
    return tuple(
        f"-{name}" if text is None else f"-{name}={text}" for name, given in texts.items() for text in given
    )


def _process_texts(image: Image | None) -> dict[str, Texts]:
    from optctx.drifting.drift import drift  # a process that compiles one job needs none

    engine, texts = attach(image), dict[str, Texts]()
    for change in drift(image).values():
        option = engine.options[change.name]
        if option.scope != "process":
            continue
        given = text_form(option, change.value)
        if given is None:
            raise OptionValueError(
                f"cannot pass the process-wide value of {change.name!r} to another process: it has no text "
                "form; do not set the option in this process"
            )
        texts[given[0]] = given[1]
    return texts


def option_name(argument: str) -> str:
    """The option that an argument such as "-unroll-count=4", with one dash or two, gives a value."""
    return argument.lstrip("-").partition("=")[0]


def set_process_options(arguments: Sequence[str], image: Image | None = None) -> None:
    """Set options of an LLVM for this process, permanently, from arguments such as "-unroll-count=4".

    As in a compiler, an unknown option or a bad value ends the process with status 1 and LLVM's message on
    standard error. `llvmlite.binding.set_option` and LLVM-C are no reference, because they ignore unknown
    options. Raises UnsupportedImageError if the library does not have LLVM's command line parser.
    """
    found = (image or llvmlite_image()).findings.need(PARSE_OPTIONS)
    parse = ctypes.CFUNCTYPE(ctypes.c_bool, *(PARSE_PARAMETERS[name][0] for name in found.form))(
        found.address
    )
    words = ["optctx", *arguments]
    argv = (ctypes.c_char_p * len(words))(*(word.encode() for word in words))
    given = {"argc": len(words), "argv": argv}
    parse(*(given.get(name, PARSE_PARAMETERS[name][1]) for name in found.form))
