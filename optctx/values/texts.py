"""Python values as text for LLVM's own parsers; and what an option takes, where they refuse the text."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Any, cast

from optctx._native import Kind, option_at
from optctx.errors import OptctxError, OptionTypeError, OptionValueError, shown
from optctx.image.abi import FLOATS, INTEGER_RANGES, INTEGERS, type_name
from optctx.image.options import RegisteredOption
from optctx.values.read_values import Value
from optctx.wording import did_you_mean, first_few, nearest

# One entry for each occurrence; None is a flag without a value (-name).
Texts = tuple[str | None, ...]

_LONGEST_INTEGER = 14_000  # bits; str() refuses more than 4,300 digits, and no option holds nearly as many
_MOST_CHOICES = 12  # in a message
_NO_LIST = (bytes, bytearray, memoryview, dict)  # though iterable


def texts_of(option: RegisteredOption, name: str, value: object) -> Texts:
    """Write the occurrences that give `option` the value.

    Members of an Enum and scalars of NumPy count as the Python value that they hold.

    Raises OptionTypeError for a type that it does not take, OptionValueError for what no command line gives.
    """
    kind = option.type.kind
    try:
        held = plain(value)
        if kind in (Kind.list, Kind.bits):
            return _list_texts(option, name, held)
        return (_scalar_text(option, name, kind, held),)
    except OptctxError:
        raise
    except Exception as error:  # of the value's class, such as an array that is to be an index
        raise OptionTypeError(
            f"cannot set {name!r} to {shown(value)}: the option is of type {type_name(kind)}, "
            f"and reading the value failed with {shown(error)}; give a value of Python's own types"
        ) from None


def plain(value: object) -> object:
    """Return what a member of an Enum, a scalar of NumPy's kind or a subclass of str holds; or the value."""
    if isinstance(value, Enum):
        return plain(value.value)
    if isinstance(value, str):
        return str.__str__(value)  # what Enum and others make of it has another text
    if hasattr(type(value), "dtype") and getattr(value, "shape", None) == ():
        return cast("Any", value).item()
    return value


def has_text(texts: Texts) -> bool:
    """Tell whether LLVM can be given the texts: they are UTF-8 without NUL. Names of files need not be."""
    given = "".join(text or "" for text in texts)
    return "\0" not in given and not any("\ud800" <= character <= "\udfff" for character in given)


def text_form(option: RegisteredOption, value: Value) -> tuple[str, Texts] | None:
    """Return the name and the texts that give an option the value that it has; None if no text does."""
    if option.type.kind == Kind.other or value is None:
        return None
    # A literal choice is a name of its option, such as -regbankselect-fast.
    name = value if isinstance(value, str) and value in option.names else option.name
    texts = texts_of(option, name, value)
    return (name, texts) if has_text(texts) else None


def needs_value(option: RegisteredOption) -> bool:
    """Return whether `-name` alone is not enough, and the next argument is its value."""
    return option_at(option.address).needs_value(option.flag_default_index)


def _takes_no_value(option: RegisteredOption) -> bool:
    return option_at(option.address).takes_no_value(option.flag_default_index)


def check_occurrence(option: RegisteredOption, name: str, text: str | None) -> None:
    """Raise OptionValueError for `-name` where LLVM requires a value, and `-name=text` where it takes none.

    LLVM checks this where it reads a command line, not where it parses a value.
    """
    if text is None and needs_value(option):
        raise OptionValueError(f"cannot set {name!r} without a value: LLVM requires one; write -{name}=VALUE")
    if text is not None and _takes_no_value(option):
        raise OptionValueError(
            f"cannot set {name!r} to {shown(text)}: LLVM does not allow a value here; use True (on a command "
            f"line -{name}, in --set {name}=true)"
        )


def split_text(option: RegisteredOption, text: str) -> Texts:
    """Split `-name=text` into the occurrences that it makes: several for a comma-separated list.

    `-name=true` is `-name` where LLVM takes no value, so that `true` sets every flag.
    """
    if text == "true" and _takes_no_value(option):
        return (None,)
    if option_at(option.address).splits_at_commas:
        return tuple(text.split(","))
    return (text,)


def _list_texts(option: RegisteredOption, name: str, value: object) -> Texts:
    if isinstance(value, str):
        return split_text(option, value)
    if not isinstance(value, Iterable) or isinstance(value, _NO_LIST):
        raise _wrong_type(option, name, value, "a list of values, or command-line text")
    texts = tuple(_scalar_text(option, name, option.type.element, plain(item)) for item in value)
    for text in texts:
        if len(split_text(option, text or "")) > 1:  # no command line could give it
            raise OptionValueError(
                f"cannot set {name!r} to an element with a comma, found {shown(text)}: LLVM splits values of "
                "this option at commas; give each part as an element"
            )
    return texts


def _scalar_text(option: RegisteredOption, name: str, kind: Kind, value: object) -> str | None:
    is_flag = value is True or (isinstance(value, str) and value in ("true", name))
    if is_flag and _takes_no_value(option):
        return None  # a flag that names its own choice, such as -regbankselect-fast
    if isinstance(value, str):
        return value
    if kind in (Kind.boolean, Kind.bool_or_default):
        if isinstance(value, bool):
            return "true" if value else "false"
        raise _wrong_type(option, name, value, "True, False or command-line text")
    if kind in INTEGERS:
        if hasattr(value, "__index__") and not isinstance(value, bool):
            return _integer_text(name, int.__int__(operator.index(value)))  # a subclass has another text
        raise _wrong_type(option, name, value, "an int or command-line text")
    if kind in FLOATS:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return _float_text(name, value)
        raise _wrong_type(option, name, value, "a float or command-line text")
    raise _wrong_type(option, name, value, "a str")


def _integer_text(name: str, value: int) -> str:
    if value.bit_length() > _LONGEST_INTEGER:
        raise OptionValueError(
            f"cannot set {name!r} to an int of {value.bit_length()} bits: no LLVM option holds it"
        )
    return str(value)


def _float_text(name: str, value: float) -> str:
    try:
        return repr(float(value))
    except OverflowError as error:
        raise OptionValueError(f"cannot set {name!r} to an int that no float holds: {error}") from None


def _wrong_type(option: RegisteredOption, name: str, value: object, expected: str) -> OptionTypeError:
    hint = "; leave the option out to keep the value that it has" if value is None else ""
    return OptionTypeError(
        f"cannot set {name!r} to {shown(value)}: the option is of type {type_name(option.type.kind)} "
        f"and takes {expected}, found {type(value).__name__}{hint}"
    )


def expectation(option: RegisteredOption, texts: Sequence[str]) -> str:
    """Say what the option takes, or suggest the choice nearest to the given text. May be empty."""
    kind = option.type.kind
    if option.choices is not None:
        return _choices(option.stored_choices()[0], texts)
    split = [part for text in texts for part in text.split() if part.startswith("-") and len(part) > 1]
    if split and not split[0][1:].isdigit() and " " in texts[-1]:
        return "write each option as a word of its own"
    if kind == Kind.list:
        kind = option.type.element
    name = type_name(kind)
    if name in INTEGER_RANGES:
        least, most = INTEGER_RANGES[name]
        return f"expected a whole number from {least:,} to {most:,}"
    if kind in FLOATS:
        return "expected a number, such as 0.5"
    return "expected one character" if kind == Kind.character else ""


def _choices(choices: list[str], texts: Sequence[str]) -> str:
    known = [choice for choice in choices if choice]
    wrong = [part for text in texts for part in text.split(",") if part not in choices]
    if near := did_you_mean(name for part in wrong[:1] for name in nearest(part, known)):
        return near
    return f"expected one of {first_few(known, _MOST_CHOICES)}"
