"""The elements of a target's `cl-opt`, `-name[[:type]=value]`, and the contexts that they become."""

from __future__ import annotations

import copy
import re
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, cast

from optctx import OptctxError, OptionContext, OptionTypeError, registry
from optctx.errors import TargetError, TargetWarning, level_outside, shown
from optctx.tvm.target import Target, TargetLike

# As OptionContext takes them.
Base: TypeAlias = Literal["inherit", "defaults"] | OptionContext
UnreadMode = Literal["ignore", "warn", "error"]

UnknownMode = Literal["error", "warn"]
OptionType: TypeAlias = Literal["bool", "int", "uint", "string"]

_FORM = "write -name, -name=BOOL or -name:type=VALUE"
_PARTS = re.compile(
    r"(?P<dashes>-*)(?P<name>[^:=]*)(?P<colon>:(?P<type>[^=]*))?(?P<equals>=(?P<value>.*))?", re.DOTALL
)
_INTEGER = re.compile(r"\s*[+-]?[0-9]+", re.ASCII)
_RANGES = {"int": (-(1 << 31), (1 << 31) - 1), "uint": (0, (1 << 32) - 1)}
_LONGEST = 40  # characters of an integer, leading zeros included
# Type in the notation -> types with which LLVM may have registered the option. TVM casts to the first without
# a check. Here int and uint also stand for each other, because LLVM's parser checks that the value fits.
_MATCHES: Final[dict[OptionType, tuple[str, ...]]] = {
    "bool": ("bool",),
    "int": ("int", "uint"),
    "uint": ("uint", "int"),
    "string": ("string",),
}


@dataclass(frozen=True)
class ClOption:
    """An LLVM option with its type and value. `str(option)` is TVM's notation of it."""

    name: str
    type: OptionType
    value: bool | int | str

    def __str__(self) -> str:
        return f"-{self.name}:{self.type}={self.text}"

    @property
    def text(self) -> str:
        """The value on LLVM's command line."""
        return str(self.value).lower() if isinstance(self.value, bool) else str(self.value)


def parse_option_string(text: str) -> ClOption:
    """Read `-name[[:type]=value]`. The type is bool, int, uint or string; without one it is bool.

    Raises TargetError for another form, and for a value that is not of the type. Does not ask LLVM.
    """
    if not isinstance(text, str):
        raise TargetError(f"an option is a string, found {shown(text)}")
    try:
        return _read_option(text)
    except TargetError as error:
        raise TargetError(f"cannot read the option {shown(text)}: {error}") from None


def from_target(
    target: TargetLike,
    *,
    base: Base = "inherit",
    unread: UnreadMode = "ignore",
    unknown: UnknownMode = "error",
) -> OptionContext:
    """Make a context from the LLVM options (`cl-opt`) of a target in TVM's notation.

    `from_target("llvm -cl-opt=-unroll-count:uint=4")` equals `OptionContext(unroll_count=4)`. The other keys
    of the target are only checked; `LLVMTarget` makes a target machine from them. If an option is given
    twice, the last one counts. Changes nothing.

    Args:
        target: One line, JSON as text or as a mapping, or a Target.
        base, unread: As for `OptionContext`.
        unknown: What to do about an option that this LLVM does not have. "warn" leaves it out with a
            TargetWarning, as TVM does.

    Raises:
        TargetError: The target cannot be read, or an option in it has another form than
            `-name[[:type]=value]`.
        OptionTypeError: The type of an option is not the one that LLVM registered. For TVM this is undefined
            behaviour.
        UnknownOptionError, OptionValueError, ProcessWideOptionError: As for `OptionContext`.
        UnsupportedImageError: The process has no LLVM that optctx can use.
    """
    check_unknown(unknown)
    texts = last_texts(read_options(Target(target), unknown))
    return OptionContext(texts, base=base, unread=unread)


def read_options(
    target: Target,
    unknown: UnknownMode | Literal["skip"] = "error",
    *,
    trust: Iterable[str] | None = None,
    whose: str = "the target",
) -> tuple[ClOption, ...]:
    """Read the options of a target, and have LLVM judge each. Errors call the target `whose`.

    `trust`: what the target may set, as for `OptionContext.from_args`; None for everything. Raises as
    `from_target` does, and UntrustedOptionError.
    """
    known = registry()
    options: list[ClOption] = []
    for index, text in enumerate(target.attrs.get("cl-opt", ())):
        try:
            option = _read_option(text)
            if unknown != "error" and option.name not in known:
                if unknown == "warn":
                    warn(f"cl-opt[{index}] {shown(text)} of {whose} is left out: LLVM has no such option")
                continue
            registered = known.get(option.name)
            if registered is not None and registered.scope != "process":  # else that is what to say first
                check_type(option, registered.type)
            argument = f"-{option.name}={option.text}"
            OptionContext.from_args([argument], base="defaults", trust=trust)
            check_type(option, known[option.name].type)
        except OptctxError as error:
            raise _placed(f"cannot use cl-opt[{index}] {shown(text)} of {whose}", error) from None
        options.append(option)
    return tuple(options)


def last_texts(options: Iterable[ClOption]) -> dict[str, str]:
    """Return the last text of each name, in the order of these texts: the last name of an option counts."""
    last: dict[str, str] = {}
    for each in options:
        last.pop(each.name, None)
        last[each.name] = each.text
    return last


def check_type(option: ClOption, registered: str) -> None:
    """Raise OptionTypeError if LLVM registered the option with another type."""
    if registered not in _MATCHES[option.type]:
        instead = (
            f"write -{option.name}:{registered}=VALUE"
            if registered in _MATCHES
            else f"TVM's notation has no such type; set it in base=OptionContext({{{option.name!r}: ...}})"
        )
        raise OptionTypeError(
            f"LLVM registered {option.name!r} as {registered}, the target says {option.type}; {instead}"
        )


def check_unknown(unknown: object) -> None:
    """Raise OptionTypeError if `unknown` is not "error" or "warn"."""
    if unknown not in ("error", "warn"):
        raise OptionTypeError(f'unknown is "error" or "warn", found {shown(unknown)}')


def warn(text: str) -> None:
    """Issue a TargetWarning for the innermost line outside this package."""
    warnings.warn(text, TargetWarning, stacklevel=level_outside())


def _placed(where: str, error: OptctxError) -> OptctxError:
    """The same error with the place in front."""
    placed = copy.copy(error)
    placed.args = (f"{where}: {error}",)
    return placed


def _read_option(text: str) -> ClOption:
    """As `parse_option_string`, but the message of an error does not name the option."""
    parts = _PARTS.fullmatch(text)
    assert parts is not None  # every part may be empty
    if parts["dashes"] not in ("-", "--"):
        raise TargetError(f"expected '-' or '--' in front, found {shown(parts['dashes'])}; {_FORM}")
    if not parts["name"]:
        raise TargetError(f"expected a name after {parts['dashes']!r}; {_FORM}")
    typed = parts["colon"] is not None
    kind = parts["type"] if typed else "bool"
    if kind not in _MATCHES:
        raise TargetError(f"expected bool, int, uint or string after ':', found {shown(kind)}")
    if typed and not parts["equals"]:
        raise TargetError(f"expected '=' and a value after the type; {_FORM}")
    value = "true" if parts["value"] is None else parts["value"]
    if kind == "bool":
        return ClOption(parts["name"], "bool", _boolean(value, typed))
    if kind == "string":
        return ClOption(parts["name"], "string", value)
    return ClOption(parts["name"], cast("OptionType", kind), _integer(kind, value))


def _boolean(value: str, typed: bool) -> bool:
    word = value.lower()
    if word in ("true", "false"):
        return word == "true"
    if len(value) <= _LONGEST and _INTEGER.fullmatch(value) and int(value) in (0, 1):
        return int(value) == 1
    hint = "" if typed else "; without a type an option is a bool, others are -name:type=VALUE"
    raise TargetError(f"expected true, false, 1 or 0 after '=', found {shown(value)}{hint}")


def _integer(kind: str, value: str) -> int:
    low, high = _RANGES[kind]
    if not _INTEGER.fullmatch(value):
        raise TargetError(f"expected an integer after '=', found {shown(value)}")
    if len(value) > _LONGEST or not low <= int(value) <= high:
        raise TargetError(f"expected {low:,} to {high:,} for type {kind}, found {shown(value)}")
    return int(value)
