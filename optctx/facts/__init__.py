"""What is known of an LLVM and its options, as plain data.

A door of the core: tools take nothing else from it but `optctx` and `optctx.process`.
"""

from __future__ import annotations

from collections.abc import Iterable

from optctx.context import OptionContext
from optctx.engine.attach import attach
from optctx.errors import OptctxError
from optctx.facts.origins import UNKNOWN, Origins
from optctx.facts.record import Choice, Facts, OptionFacts, Plain, Reader
from optctx.facts.taking import take
from optctx.hosts.llvmlite import llvmlite_image
from optctx.image.abi import INTEGER_RANGES
from optctx.values.args import process_args
from optctx.values.foreign import advice_for
from optctx.values.read_values import Value, value_text
from optctx.values.registry import find
from optctx.values.trust import TUNING

__all__ = [
    "INTEGER_RANGES",
    "UNKNOWN",
    "Choice",
    "Facts",
    "OptionFacts",
    "Origins",
    "Plain",
    "Reader",
    "Value",
    "advice",
    "arguments",
    "build_id",
    "facts",
    "resolve",
    "text",
    "trusted",
]


def facts(*, readers: bool = True) -> Facts:
    """Take what is known of llvmlite's LLVM: every option, its storage, and the code that refers to it.

    Attaches at first use and changes nothing else. The same library gives the same facts, but for the values
    at that moment. `readers`: with the functions that refer to each option, which take half a second.

    Raises:
        UnsupportedImageError: The process has no LLVM, its layout does not check out, or its code cannot be
            decoded.
    """
    return take(attach(), readers)


def build_id() -> str:
    """The build id of llvmlite's LLVM. Attaches at first use. Raises UnsupportedImageError."""
    return attach().image.build_id


def resolve(name: str) -> str:
    """The name of the option for which a name stands: its own, or that of which it is an alias.

    A leading "-" is left out. Raises UnknownOptionError for the name of no option.
    """
    engine = attach()
    return engine.resolve(find(engine, name.lstrip("-") or name)).name


def arguments(words: Iterable[str] | str) -> tuple[str, ...]:
    """The arguments as LLVM prints them, for a process of its own: options that no context can set, too.

    Raises OptctxError for an option or a value that this LLVM does not have. Attaches at first use.
    """
    return tuple(process_args(attach(), words))


def text(value: Value) -> str:
    """Write a value as on a command line; "unset" for None."""
    return value_text(value)


def trusted(name: str, text: str) -> bool:
    """Whether LLVM takes this value of an option, and a module or file of unknown origin could set it.

    LLVM is known to survive such values. Raises UnknownOptionError for the name of no option.
    """
    engine = attach()
    option = engine.resolve(find(engine, name))
    try:
        TUNING.check(option, name)
        TUNING.check_value(option, name, OptionContext({name: text})[name])
    except OptctxError:
        return False
    return True


def advice(flag: str) -> str:
    """What to use instead of a flag of clang, opt or llc; an empty string for other arguments.

    Raises UnsupportedImageError if the process has no LLVM that optctx can use.
    """
    return advice_for(llvmlite_image(), flag)
